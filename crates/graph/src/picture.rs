//! A picture: a list of drawing primitives in pixels, origin at the top left.
//!
//! The layout writes it, each back end (SVG, PNG, PDF, EPS) reads it.  Primitives are the few that
//! graphs need: polygons, polylines, texts and one clip rectangle, so that every back end is short.

use crate::font::{FontChoice, Point};

/// A colour, each part in 0..=1, not premultiplied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rgba {
    /// Red.
    pub red: f64,
    /// Green.
    pub green: f64,
    /// Blue.
    pub blue: f64,
    /// Opacity.
    pub alpha: f64,
}

impl Rgba {
    /// A colour from its parts.
    #[must_use]
    pub const fn new(red: f64, green: f64, blue: f64, alpha: f64) -> Self {
        Self { red, green, blue, alpha }
    }

    /// A colour from `0xRRGGBBAA`.
    #[must_use]
    pub fn from_hex(value: u32) -> Self {
        let [red, green, blue, alpha] = value.to_be_bytes().map(|part| f64::from(part) / 255.0);
        Self { red, green, blue, alpha }
    }

    /// Changes the opacity of a colour.
    #[must_use]
    pub const fn with_alpha(self, alpha: f64) -> Self {
        Self { alpha, ..self }
    }

    /// The parts as bytes, opacity last.
    #[must_use]
    pub fn bytes(self) -> [u8; 4] {
        [self.red, self.green, self.blue, self.alpha].map(|part| (part * 255.0 + 0.5) as u8)
    }
}

/// What fills a polygon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Paint {
    /// One colour.
    Solid(Rgba),
    /// A change from one colour at a height to another colour at another height.
    Gradient {
        /// The height of the first colour.
        y1: f64,
        /// The first colour.
        color1: Rgba,
        /// The height of the second colour.
        y2: f64,
        /// The second colour.
        color2: Rgba,
    },
}

/// How a polyline is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Stroke {
    /// The width in pixels.
    pub width: f64,
    /// The colour of the line.
    pub color: Rgba,
    /// Lengths on and off in turn; empty for a solid line.
    pub dashes: Vec<f64>,
    /// Where in the pattern the line begins.
    pub dash_offset: f64,
    /// Round caps and joins, else butt and miter.
    pub round: bool,
}

/// A text on one baseline, all of one font and colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// Where the baseline begins.
    pub at: Point,
    /// Turned around `at`, in degrees, counter-clockwise.
    pub angle: f64,
    /// The font of the text.
    pub font: FontChoice,
    /// The colour of the text.
    pub color: Rgba,
    /// Each character and its distance from the start of the baseline, in pixels.
    pub glyphs: Vec<(char, f64)>,
}

/// A drawing primitive.
#[derive(Debug, Clone, PartialEq)]
pub enum Primitive {
    /// A filled polygon.
    Polygon(Vec<Point>, Paint),
    /// Polylines that are stroked together.
    Lines {
        /// Each polyline.
        lines: Vec<Vec<Point>>,
        /// Whether each ends where it begins.
        closed: bool,
        /// How it is drawn.
        stroke: Stroke,
    },
    /// A text.
    Text(Label),
    /// Only the inside of this rectangle (left, top, width, height) is drawn on from here on.
    Clip([f64; 4]),
    /// The end of the clip rectangle.
    Unclip,
}

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// The width in pixels, before the zoom.
    pub width: u32,
    /// The height in pixels, before the zoom.
    pub height: u32,
    /// All lengths are multiplied by this.
    pub zoom: f64,
    /// Whether lines and areas have soft edges.
    pub smooth_lines: bool,
    /// Whether texts have soft edges.
    pub smooth_texts: bool,
    /// What is drawn, in this order.
    pub primitives: Vec<Primitive>,
}

impl Primitive {
    /// Moves the shape down by so many pixels.
    fn lowered(mut self, by: f64) -> Self {
        let lower = |points: &mut Vec<Point>| points.iter_mut().for_each(|point| point[1] += by);
        match &mut self {
            Primitive::Polygon(points, paint) => {
                lower(points);
                if let Paint::Gradient { y1, y2, .. } = paint {
                    (*y1, *y2) = (*y1 + by, *y2 + by);
                }
            }
            Primitive::Lines { lines, .. } => lines.iter_mut().for_each(lower),
            Primitive::Text(label) => label.at[1] += by,
            Primitive::Clip([_, top, ..]) => *top += by,
            Primitive::Unclip => {}
        }
        self
    }
}

impl Picture {
    /// One picture of several, each below the one before, on a ground of a colour; as wide as the widest.
    #[must_use]
    pub fn stacked(pictures: Vec<Picture>, ground: Rgba) -> Option<Picture> {
        let width = pictures.iter().map(|picture| picture.width).max()?;
        let height = pictures.iter().map(|picture| picture.height).fold(0, u32::saturating_add);
        let (right, bottom) = (f64::from(width), f64::from(height));
        let corners = vec![[0.0, 0.0], [right, 0.0], [right, bottom], [0.0, bottom]];
        let mut all = Picture { width, height, primitives: Vec::new(), ..*pictures.first()? };
        all.primitives.push(Primitive::Polygon(corners, Paint::Solid(ground)));
        let mut top = 0.0;
        for picture in pictures {
            let lowered = picture.primitives.into_iter().map(|one| one.lowered(top));
            all.primitives.extend(lowered);
            top += f64::from(picture.height);
        }
        Some(all)
    }

    /// Width and height after the zoom, in whole pixels.
    #[must_use]
    pub fn size(&self) -> (u32, u32) {
        let zoomed = |pixels: u32| (f64::from(pixels) * self.zoom) as u32;
        (zoomed(self.width), zoomed(self.height))
    }
}
