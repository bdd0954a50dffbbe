"""Firecrawl's v2 format under /v2, for clients that speak it: requests and answers are translated, nothing else is."""
