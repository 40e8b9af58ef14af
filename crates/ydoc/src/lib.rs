//! A notebook as the Y document that people edit together.
