"""Where things are kept. Each backend has the same names and keeps the same promises."""
