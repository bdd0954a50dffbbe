"""Reading: knows pages, not jobs. Decisions are pure, and the world stands behind ports."""
