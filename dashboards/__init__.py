"""What an operator looks at, and what wakes them: dashboards, rules and how they get to Grafana."""
