//! Tests of this group of tools.
