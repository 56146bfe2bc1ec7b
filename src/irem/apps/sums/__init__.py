"""Lines of bits in texts, and their prefix sums in the same form."""

from irem.apps.sums.bits import BitText as BitText
