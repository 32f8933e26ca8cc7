"""The report: one HTML file that a browser opens without a network.

contents.py says what it knows, as JSON; render.py puts that, Chart.js, page.css and the programs of
js/ into page.html. What is shown of it, the statistics included, is worked out in the browser.
"""
