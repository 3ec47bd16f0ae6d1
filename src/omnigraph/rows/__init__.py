"""Entities as Arrow rows: reading, checking, identifying and writing them. Pure over Arrow; knows no storage."""
