"""From a plan to published figures: records read, measurements drawn once, figures made consistent, certificate written."""
