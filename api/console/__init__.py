"""The console: web pages, which the api renders from the same answers that its JSON routes give."""
