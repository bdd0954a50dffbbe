"""What people use Emissary for: fronts on one engine that do not know each other."""
