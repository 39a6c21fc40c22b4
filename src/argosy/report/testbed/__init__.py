"""The testbed's answers for people: a page and a picture per experiment, and the index of all of them."""
