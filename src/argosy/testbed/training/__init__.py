"""A small transformer trained for real on the testbed, and what the training simulators say of it.

`shape` and `data` need no torch: sizes, the emulated accelerator's pace, samples by number. `model` is torch and only ranks
import it.
"""
