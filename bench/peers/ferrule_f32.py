"""Ferrule's own f32, to compare --precision with."""
from peers import ferrule

TITLE, PACKAGES, MODULES = "Ferrule f32", [], []
version = ferrule.version


class Session(ferrule.Session):
    def __init__(self, path, name, inputs, threads):
        super().__init__(path, name, inputs, threads, "f32")
