"""A campaign: cells, each measured in a process of its own, in rounds over all of them, journalled.

plan      what is to be measured, as timerbench tells it
identity  what could change a cell's figure
journal   what has been measured, safe from kill -9
process   one cell measured by one process, within limits
rounds    who is next: balanced Latin squares, and where a budget goes
runner    all of that together
results   the journal as Google Benchmark's JSON
"""
