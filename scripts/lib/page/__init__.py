"""The report: one HTML file that a browser opens without a network.

contents.py collects the results as JSON. render.py puts the JSON, Chart.js, page.css and the
programs of js/ into page.html. The browser computes everything shown, including the statistics.
"""
