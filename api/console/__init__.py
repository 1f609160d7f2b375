"""The console: pages for people, rendered by the api from the answers that its JSON routes give."""
