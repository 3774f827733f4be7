"""Stage 4: from findings to a plan. Pure.

actions.py is the table of actions (docs/design.md section 7); one builder per kind turns a Remedy into steps;
tools/ knows how pip, uv, conda, pixi, poetry say it.
"""
