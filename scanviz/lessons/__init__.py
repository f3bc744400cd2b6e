"""Twelve lessons on scan: a question, a program, its picture, the formal statement, and an exercise that checks itself.

The lessons are the Markdown files of ``texts``; ``source`` reads them, ``exercise`` checks what a learner wrote.
"""
