//! How alike two pictures are.
//!
//! The same chart drawn by another version of a library differs in many places, wherever there is text or a slanted line, and
//! everywhere only at edges, by less than a pixel. A change of the data differs in a few places, and all other pixels are equal. So
//! where only few places differ, no more is tolerated there than what rounding does: a faint grid, or one of many points, changes
//! pixels by little. The same holds for pictures of few colors, which nothing has smoothed.
//! Where many places differ, a pixel may have any color between those around it in the other picture.

use std::collections::{BTreeSet, VecDeque};

use image::RgbaImage;

/// By how much the sides may differ if the edges of a picture are where its text ends, in pixels.
const MARGIN: usize = 2;
/// The places are counted in squares of this side.
const SQUARE: usize = 6;
/// By how much rounded coordinates change the colors of edges: a pixel beyond that is a difference where all else is equal.
const ROUNDING: u8 = 10;
/// How far a color may be outside those around it.
const OUTSIDE: u8 = 64;
/// By how much the means of the colors around a pixel may differ.
const MEAN: u8 = 32;
/// A picture of so few colors has no smooth edges.
const FEW_COLORS: usize = 8;
/// So many pixels together that are outside the colors around them are a difference in any case.
const SOME: usize = 5;
/// So many pixels of an area of one color that have another color are a difference.
const AREA: usize = 9;
/// Differences of all colors by 1 are those of rounding, unless they are in few places.
const FEW_PLACES: usize = 4;
/// In at most so many places, and of all edges at most one in so many: then the rest is drawn in the same way.
const ELSEWHERE_EQUAL: [(usize, usize); 4] = [(2, 3), (4, 5), (8, 20), (24, 50)];
/// A picture with so few edges shows too little to tell how it is drawn.
const FEW_EDGES: usize = 64;
/// A change in the colors of neighbors that is an edge.
const EDGE: u8 = 24;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Likeness {
    Same,
    Close,
    /// Where, and how much of it.
    Different(String),
}

/// A picture on a white page.
pub(super) struct Pixels {
    width: usize,
    height: usize,
    colors: Vec<[u8; 3]>,
}

impl Pixels {
    pub(super) fn of(picture: &RgbaImage) -> Self {
        let on_white = |color: u8, alpha: u8| {
            let (color, alpha) = (u32::from(color), u32::from(alpha));
            u8::try_from((color * alpha + 255 * (255 - alpha) + 127) / 255).unwrap_or(u8::MAX)
        };
        let colors = picture.pixels().map(|pixel| {
            let [red, green, blue, alpha] = pixel.0;
            [red, green, blue].map(|color| on_white(color, alpha))
        });
        Self {
            width: usize::try_from(picture.width()).unwrap_or_default(),
            height: usize::try_from(picture.height()).unwrap_or_default(),
            colors: colors.collect(),
        }
    }

    fn cut(&self, left: usize, top: usize, width: usize, height: usize) -> Self {
        let rows = (top..top + height).flat_map(|y| &self.colors[y * self.width + left..][..width]);
        Self { width, height, colors: rows.copied().collect() }
    }

    /// The indices of a pixel and those around it.
    fn around(&self, at: usize) -> impl Iterator<Item = usize> + use<> {
        let (width, x, y) = (self.width, at % self.width, at / self.width);
        let (right, bottom) = ((x + 1).min(width - 1), (y + 1).min(self.height - 1));
        (y.saturating_sub(1)..=bottom)
            .flat_map(move |y| (x.saturating_sub(1)..=right).map(move |x| y * width + x))
    }

    /// The least and the greatest of each color around a pixel.
    fn range(&self, at: usize) -> ([u8; 3], [u8; 3]) {
        self.around(at).fold(([u8::MAX; 3], [0; 3]), |(least, greatest), at| {
            let color = self.colors[at];
            (
                std::array::from_fn(|c| least[c].min(color[c])),
                std::array::from_fn(|c| greatest[c].max(color[c])),
            )
        })
    }

    fn is_flat(&self, at: usize) -> bool {
        let (least, greatest) = self.range(at);
        (0..3).all(|c| greatest[c] - least[c] <= 2)
    }

    /// The color of a pixel and those around it, in the mean.
    fn mean(&self, at: usize) -> [u8; 3] {
        let (sum, count) = self.around(at).fold(([0_u32; 3], 0), |(sum, count), at| {
            (std::array::from_fn(|c| sum[c] + u32::from(self.colors[at][c])), count + 1)
        });
        sum.map(|sum| u8::try_from(sum / count).unwrap_or(u8::MAX))
    }

    /// Whether a pixel of `other` at the same place is outside the colors around this one.
    fn is_outside(&self, at: usize, other: [u8; 3]) -> bool {
        let (least, greatest) = self.range(at);
        (0..3).any(|c| {
            other[c] < least[c].saturating_sub(OUTSIDE) || other[c] > greatest[c].saturating_add(OUTSIDE)
        })
    }

    fn is_edge(&self, at: usize) -> bool {
        let differs = |other: usize| distance(self.colors[at], self.colors[other]) > EDGE;
        (at % self.width + 1 < self.width && differs(at + 1))
            || (at + self.width < self.colors.len() && differs(at + self.width))
    }
}

fn distance(one: [u8; 3], other: [u8; 3]) -> u8 {
    (0..3).map(|c| one[c].abs_diff(other[c])).max().unwrap_or_default()
}

/// Compares two pictures whose bytes differ. Encoders that lose something may change all colors a little.
pub(super) fn compare(before: &Pixels, after: &Pixels, is_lossy: bool) -> Likeness {
    if (before.width, before.height) == (after.width, after.height) {
        return Differing::of(before, after, if is_lossy { 12 } else { 1 }).likeness();
    }
    let sizes =
        format!("in size: {}×{} became {}×{}", before.width, before.height, after.width, after.height);
    if before.width.abs_diff(after.width).max(before.height.abs_diff(after.height)) > MARGIN {
        return Likeness::Different(sizes);
    }
    // Where the margin went is not known.
    let (width, height) = (before.width.min(after.width), before.height.min(after.height));
    let shifts = |one: usize, other: usize| 0..=one.abs_diff(other);
    let shift = |one: usize, common: usize, shift: usize| if one > common { shift } else { 0 };
    let is_close = shifts(before.width, after.width).any(|x| {
        shifts(before.height, after.height).any(|y| {
            let cut =
                |it: &Pixels| it.cut(shift(it.width, width, x), shift(it.height, height, y), width, height);
            let (one, other) = (cut(before), cut(after));
            !matches!(Differing::of(&one, &other, 1).likeness(), Likeness::Different(_))
        })
    });
    if is_close { Likeness::Close } else { Likeness::Different(sizes) }
}

/// Two pictures of the same size, and the pixels that differ.
struct Differing<'p> {
    before: &'p Pixels,
    after: &'p Pixels,
    /// By how much all may differ.
    tolerance: u8,
    distances: Vec<u8>,
}

/// Pixels near each other that differ.
#[derive(Debug, Default, Clone)]
struct Place {
    pixels: Vec<usize>,
    /// How far the colors of a pixel are apart, at most.
    distance: u8,
    /// How many are in areas of one color.
    flat: usize,
    /// How many are in such an area, and clearly of another color.
    clearly_flat: usize,
}

impl<'p> Differing<'p> {
    fn of(before: &'p Pixels, after: &'p Pixels, tolerance: u8) -> Self {
        let colors = before.colors.iter().zip(&after.colors);
        let distances = colors.map(|(one, other)| distance(*one, *other)).collect();
        Self { before, after, tolerance, distances }
    }

    fn likeness(&self) -> Likeness {
        if self.distances.iter().all(|distance| *distance == 0) {
            return Likeness::Same;
        }
        let places = self.places(self.tolerance);
        if places.is_empty() {
            // One cell of a heat map may be one step of the color map away.
            let places = if self.tolerance == 1 { self.places(0) } else { Vec::new() };
            let differing: usize = places.iter().map(|place| place.pixels.len()).sum();
            let is_few = places.len() <= FEW_PLACES && differing * 4 <= self.distances.len();
            return self.result(&places, |place| {
                is_few && place.flat >= AREA && place.flat * 2 >= place.pixels.len()
            });
        }
        if self.has_few_colors() {
            return self.result(&places, |_| true);
        }
        if self.is_elsewhere_equal(&places) {
            let rounding = ROUNDING.max(3 * self.tolerance);
            return self.result(&places, |place| place.distance > rounding || place.flat >= AREA);
        }
        self.result(&places, |place| place.clearly_flat >= AREA || self.outside(place) >= SOME)
    }

    fn result(&self, places: &[Place], differs: impl Fn(&Place) -> bool) -> Likeness {
        let different: Vec<&Place> = places.iter().filter(|place| differs(place)).collect();
        if different.is_empty() { Likeness::Close } else { Likeness::Different(self.described(&different)) }
    }

    fn has_few_colors(&self) -> bool {
        let mut colors = BTreeSet::new();
        let mut all = self.before.colors.iter().chain(&self.after.colors);
        all.all(|color| {
            colors.insert(color);
            colors.len() <= FEW_COLORS
        })
    }

    /// Whether what differs is a change of few places in a picture that is drawn in the same way otherwise.
    fn is_elsewhere_equal(&self, places: &[Place]) -> bool {
        let (mut edges, mut differing) = (0, 0);
        for at in 0..self.distances.len() {
            if self.before.is_edge(at) || self.after.is_edge(at) {
                edges += 1;
                differing += usize::from(self.distances[at] > EDGE / 2);
            }
        }
        edges <= FEW_EDGES
            || ELSEWHERE_EQUAL.iter().any(|(most, share)| places.len() <= *most && differing * share <= edges)
    }

    /// The places with pixels that differ by more than `tolerance`.
    fn places(&self, tolerance: u8) -> Vec<Place> {
        let width = self.before.width;
        let columns = width.div_ceil(SQUARE);
        let mut squares: Vec<Vec<usize>> = vec![Vec::new(); columns * self.before.height.div_ceil(SQUARE)];
        for (at, _) in self.distances.iter().enumerate().filter(|(_, distance)| **distance > tolerance) {
            squares[at / width / SQUARE * columns + at % width / SQUARE].push(at);
        }
        let mut places = Vec::new();
        for start in 0..squares.len() {
            let mut place = Place::default();
            let mut open = VecDeque::from([start]);
            while let Some(square) = open.pop_front() {
                let pixels = std::mem::take(&mut squares[square]);
                if pixels.is_empty() {
                    continue;
                }
                place.pixels.extend(pixels);
                let (column, row) = (square % columns, square / columns);
                for row in row.saturating_sub(1)..=(row + 1).min(squares.len() / columns - 1) {
                    let neighbors = column.saturating_sub(1)..=(column + 1).min(columns - 1);
                    open.extend(neighbors.map(|column| row * columns + column));
                }
            }
            if !place.pixels.is_empty() {
                self.count(&mut place);
                places.push(place);
            }
        }
        places
    }

    fn count(&self, place: &mut Place) {
        for &at in &place.pixels {
            let distance = self.distances[at];
            place.distance = place.distance.max(distance);
            if self.before.is_flat(at) && self.after.is_flat(at) {
                place.flat += 1;
                place.clearly_flat += usize::from(distance > EDGE / 2);
            }
        }
    }

    /// How many pixels are together outside the colors around them, at most.
    fn outside(&self, place: &Place) -> usize {
        let is_outside = |at: &usize| {
            // A thin line that lies between two pixels makes both half as dark.
            distance(self.before.mean(*at), self.after.mean(*at)) > MEAN
                && (self.before.is_outside(*at, self.after.colors[*at])
                    || self.after.is_outside(*at, self.before.colors[*at]))
        };
        let mut left: BTreeSet<usize> = place.pixels.iter().copied().filter(is_outside).collect();
        let mut most = 0;
        while let Some(first) = left.pop_first() {
            let (mut open, mut count) = (vec![first], 0);
            while let Some(at) = open.pop() {
                count += 1;
                open.extend(self.before.around(at).filter(|near| left.remove(near)));
            }
            most = most.max(count);
        }
        most
    }

    /// `around x 120–260, y 10–30 of 640×480 (3 % of the pixels)`
    fn described(&self, places: &[&Place]) -> String {
        let width = self.before.width;
        let pixels = || places.iter().flat_map(|place| &place.pixels);
        let span = |coordinate: fn(usize, usize) -> usize| {
            let values = pixels().map(|at| coordinate(*at, width));
            let (least, most) = values.fold((usize::MAX, 0), |(a, b), v| (a.min(v), b.max(v)));
            format!("{least}–{most}")
        };
        let (x, y) = (span(|at, width| at % width), span(|at, width| at / width));
        let count = pixels().count();
        let share = count * 1000 / self.distances.len();
        let share = match share {
            0 => "less than 0.1 %".to_owned(),
            1..10 => format!("0.{share} %"),
            share => format!("{} %", share / 10),
        };
        format!("around x {x}, y {y} of {width}×{} ({share} of the pixels)", self.before.height)
    }
}
