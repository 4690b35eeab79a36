//! PNG.

use super::RenderError;
use super::picture::Picture;
use super::raster::{Painter, Raster};
use super::scene::Scene;

/// The picture as a PNG file: 12 × 24 pixels a cell.
pub fn png(picture: &Picture) -> Result<Vec<u8>, RenderError> {
    encode(&Painter::new()?.paint(&Scene::of(picture))).map_err(|e| RenderError::Encode(e.to_string()))
}

fn encode(raster: &Raster) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, raster.width, raster.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    let mut writer = encoder.write_header()?;
    let data: Vec<u8> = raster.pixels.iter().flat_map(|p| [p.0, p.1, p.2]).collect();
    writer.write_image_data(&data)?;
    writer.finish()?;
    Ok(bytes)
}
