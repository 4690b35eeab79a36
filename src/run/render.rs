//! `umtop render`: a recording up to a moment, as the dashboard would show it.

use super::{Failure, output};
use crate::cli::{EXIT_USAGE, Moment, PictureFormat, RenderArgs};
use crate::recording::Stored;
use crate::render::{self, Cast, Picture, RenderError, Tape};
use crate::ui::Screen;
use crate::units::{Nanos, Stamp};
use std::path::Path;
use std::process::ExitCode;

/// Most frames of an animation: they are all held until the palette is known.
const MAX_FRAMES: usize = 2_000;

pub(super) fn render(args: &RenderArgs) -> Result<ExitCode, Failure> {
    let usage = |line: String| Failure::new(EXIT_USAGE, line);
    let screen = screen(&args.screen).map_err(usage)?;
    let format = args.format.map_or_else(|| format_of(&args.output.output), Ok).map_err(usage)?;
    let tape = Tape::open(&Stored::file(&args.file)).map_err(Failure::failed)?;
    let size = (args.size.0, args.size.1);
    let bytes = match format {
        PictureFormat::Gif | PictureFormat::Cast => animated(tape, args, format, screen)?,
        _ if args.from.is_some() || args.to.is_some() => {
            return Err(usage("--from and --to make an animation: choose --format gif or cast".to_owned()));
        }
        _ => still(&still_shot(tape, args.at, screen, size)?, format)?,
    };
    output::write(&args.output, &bytes)?;
    Ok(ExitCode::SUCCESS)
}

fn still_shot(mut tape: Tape, at: Option<Moment>, screen: Screen, size: (u16, u16)) -> Result<Picture, Failure> {
    match at {
        Some(at) => tape.to(Stamp(at.0.0)).map_err(Failure::failed)?,
        None => tape.to_end().map_err(Failure::failed)?,
    }
    Ok(render::shot(&mut tape.model, screen, size))
}

fn still(picture: &Picture, format: PictureFormat) -> Result<Vec<u8>, Failure> {
    Ok(match format {
        PictureFormat::Svg => render::svg(picture).into_bytes(),
        PictureFormat::Png => render::png(picture).map_err(Failure::failed)?,
        PictureFormat::Ansi => render::ansi(picture).into_bytes(),
        _ => render::txt(picture).into_bytes(),
    })
}

fn animated(mut tape: Tape, args: &RenderArgs, format: PictureFormat, screen: Screen) -> Result<Vec<u8>, Failure> {
    let size = (args.size.0, args.size.1);
    let from = args.from.map_or(tape.first, |m| Stamp(m.0.0).max(tape.first));
    let to = args.to.map(|m| Stamp(m.0.0));
    if to.is_some_and(|to| to <= from) {
        return Err(Failure::new(EXIT_USAGE, "the animation ends before it begins: choose a later --to"));
    }
    let step = Nanos((1e9 * args.speed / f64::from(args.fps)) as u64);
    let mut frames = Vec::new();
    let mut at = from;
    while to.is_none_or(|to| at <= to) && !(tape.ended && to.is_none()) {
        if frames.len() == MAX_FRAMES {
            let line = format!("more than {MAX_FRAMES} frames: choose a shorter span, fewer --fps or a higher --speed");
            return Err(Failure::new(EXIT_USAGE, line));
        }
        match tape.to(at) {
            Err(RenderError::Outside { .. }) if to.is_none() => {}
            moved => moved.map_err(Failure::failed)?,
        }
        frames.push(render::shot(&mut tape.model, screen, size));
        at = at.plus(step);
    }
    if format == PictureFormat::Cast {
        let title = frames.last().map(|frame| frame.caption.join(" · ")).unwrap_or_default();
        let mut cast = Cast::new(size, &title);
        for (i, frame) in frames.iter().enumerate() {
            cast.frame(i as f64 / f64::from(args.fps), frame);
        }
        return Ok(cast.finish().into_bytes());
    }
    let mut bytes = Vec::new();
    render::gif(&mut bytes, &frames, 100 / u16::from(args.fps)).map_err(Failure::failed)?;
    Ok(bytes)
}

/// The screen of a name, as its tab has it.
fn screen(name: &str) -> Result<Screen, String> {
    let names: Vec<String> = Screen::ALL.iter().map(|screen| screen.title().to_lowercase()).collect();
    match names.iter().position(|other| *other == name.to_lowercase()) {
        Some(at) => Ok(Screen::ALL[at]),
        None => Err(format!("unknown screen '{name}': choose one of {}", names.join(", "))),
    }
}

fn format_of(path: &Path) -> Result<PictureFormat, String> {
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    <PictureFormat as clap::ValueEnum>::from_str(ending, true)
        .map_err(|_| "choose a --format: svg, png, ansi, txt, gif or cast".to_owned())
}
