use super::*;

fn svg(content: &str) -> String {
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' width='400' height='300'>{content}</svg>"
    )
}

#[test]
fn a_plot_with_text_as_outlines_is_drawn() {
    // As matplotlib writes it: glyphs and markers are used, and what is plotted is clipped.
    let plot = svg(
        "<metadata><rdf:RDF xmlns:rdf='x'/></metadata><defs><style type='text/css'>*{stroke-linejoin: round}</style></defs>\
         <g id='axes_1'><g clip-path='url(#p1)'><path d='M 100 100 L 400 100 L 400 300 L 100 300 z' style='fill: #ff0000'/></g></g>\
         <g id='text_1'><!-- 1 --><g><defs><path id='one' d='M 0 0 L 20 0 L 20 20 L 0 20 z'/></defs>\
         <use xlink:href='#one' x='10' y='10' style='fill: #0000ff'/></g></g>\
         <defs><clipPath id='p1'><rect x='100' y='100' width='100' height='100'/></clipPath></defs>",
    );
    let picture = draw(&plot).unwrap().to_rgb8();
    assert_eq!(picture.dimensions(), (400, 300));
    let pixel = |x, y| picture.get_pixel(x, y).0;
    assert_eq!(pixel(150, 150), [255, 0, 0]);
    assert_eq!(pixel(250, 250), [255, 255, 255], "clipped");
    assert_eq!(pixel(20, 20), [0, 0, 255]);
}

#[test]
fn an_image_in_a_plot_is_drawn_and_no_file_is_read() {
    // Two by one pixels, red and blue.
    const PIXELS: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADUlEQVR4nGP4zwAE/wEHAAH/4iOeWQAAAABJRU5ErkJggg==";
    let image = |href: &str| {
        svg(&format!("<image xlink:href='{href}' width='400' height='300' image-rendering='pixelated'/>"))
    };
    let heatmap = draw(&image(&format!("data:image/png;base64,{PIXELS}"))).unwrap().to_rgb8();
    assert_eq!(heatmap.get_pixel(50, 150).0, [255, 0, 0]);
    assert_eq!(heatmap.get_pixel(350, 150).0, [0, 0, 255]);
    for href in [
        "/etc/hostname",
        "file:///x.png",
        "https://example.org/x.png",
        "data:image/svg+xml,x",
        "data:image/png;base64,AAAA",
    ] {
        assert!(draw(&image(href)).is_none(), "{href}");
    }
}

#[test]
fn what_would_look_otherwise_is_not_drawn() {
    for content in [
        "<text>hi</text>",
        "<foreignObject/>",
        "<filter id='f'/>",
        "<mask id='m'/>",
        "<pattern id='p'/>",
        "<switch><path d='M0 0'/></switch>",
        "<path d='M0 0'><animate/></path>",
        "<use xlink:href='other.svg#a'/>",
        "<use xlink:href='#nothing'/>",
        "<svg width='9' height='9'/>",
    ] {
        assert!(!is_drawable(&svg(content)), "{content}");
    }
    assert!(draw("").is_none() && draw("<svg/>").is_none() && draw("no drawing").is_none());
}

#[test]
fn what_takes_long_is_not_begun() {
    let joined = |count: u32, part: &dyn Fn(u32) -> String| (1..count).map(part).collect::<Vec<_>>().concat();
    let laughs = |inside: &str| {
        joined(20, &|n| format!("<g id='a{n}'>{}</g>", inside.replace('N', &(n - 1).to_string())))
    };
    let deep = format!("{}{}", "<g>".repeat(2_000), "</g>".repeat(2_000));
    let layers = "<g opacity='0.5'><rect width='400' height='300'/></g>".repeat(500);
    let clips = joined(40, &|n| {
        format!("<clipPath id='c{n}' clip-path='url(#c{})'><rect width='9' height='9'/></clipPath>", n - 1)
    });
    let zigzag = joined(50_000, &|n| format!(" {} {}", n % 400, (n % 2) * 300));
    for content in [
        format!(
            "<g id='a0'><rect width='9' height='9'/></g>{}",
            laughs("<use href='#aN'/><use href='#aN'/>")
        ),
        format!("<g id='a'><use href='#a'/></g>{}", "<use href='#a'/>"),
        format!("<g id='a'>{}</g>{}", "<path d='M0 0L9 9'/>".repeat(1_000), "<use href='#a'/>".repeat(1_000)),
        deep,
        layers,
        format!(
            "<clipPath id='c0'><rect width='9' height='9'/></clipPath>{clips}<g clip-path='url(#c39)'><rect width='9' height='9'/></g>"
        ),
        "<path d='M0 0L400 300' stroke='red' stroke-dasharray='0.0001'/>".to_owned(),
        format!("<path d='M{zigzag}' stroke='red'/>"),
        format!("<style>{}</style>", "a b c d e{x:y}".repeat(1_000)),
        "<path d='M0 0L9 9'/>".repeat(60_000),
    ] {
        assert!(draw(&svg(&content)).is_none(), "{}", &content[..content.len().min(200)]);
    }
    let entities =
        format!("<!DOCTYPE svg [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]>{}", svg("<title>&b;</title>"));
    assert!(draw(&entities).is_none());
}

#[test]
fn a_picture_is_neither_huge_nor_tiny() {
    let sized = |width: u64, height: u64| {
        let svg = format!(
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}'><rect width='1' height='1'/></svg>"
        );
        draw(&svg).map(|picture| (picture.width(), picture.height()))
    };
    assert_eq!(sized(24, 12), Some((300, 150)));
    assert_eq!(sized(1_000_000, 500_000), Some((1568, 784)));
    assert_eq!(sized(1_000_000_000, 1), Some((1568, 1)));
}
