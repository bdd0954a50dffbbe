"""Station 1 of 7: takes requests in over HTTP."""
