"""How each tool says «install this»."""
