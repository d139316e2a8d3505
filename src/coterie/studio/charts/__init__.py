"""Figures of the studio's pages, one kind a file: pure functions from numbers to a Figure (SVG and its numbers).

    histogram.py   counts before (filled) and after (outline) over shared bins
    labels.py      counts of labels before and after, as horizontal bars
    heatmap.py     a matrix of correlations, or of their change
    scatter.py     the risk–utility map: points with intervals, a mark and a word for each promise
    lines.py       one line a name over a log scale
    intervals.py   horizontal bars with intervals and marks

A figure reads in grey (filled against outline, marks, dashes), scales its text with the page, and scrolls on a phone.
"""
