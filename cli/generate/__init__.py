"""The generated parts of the documentation and of the chart."""
