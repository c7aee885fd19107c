//! Tells somebody who looks elsewhere that a job which took a while has ended, whichever job it is.

use crate::text::visible;
use crate::tui::message::{Effect, Message};
use crate::tui::state::State;

/// A job that was through before this is no news.
const LONG_MS: i64 = 3_000;
/// Characters that are said.
const SAID: usize = 200;

/// The number of the job that `message` answers, where it has not ended yet.
pub(super) fn unfinished(state: &State, message: &Message) -> Option<u64> {
    let Message::Answer(number, _) = message else {
        return None;
    };
    let mut jobs = state.jobs.iter().rev();
    let job = jobs.find(|job| job.number == *number)?;
    job.outcome.is_none().then_some(*number)
}

/// Says that the job has ended, if it has by now and nobody looks.
pub(super) fn tell(state: &State, out: &mut Vec<Effect>, job: Option<u64>) {
    let Some(number) = job.filter(|_| !state.focused) else {
        return;
    };
    let Some(job) = state.jobs.iter().rev().find(|job| job.number == number) else {
        return;
    };
    if let Some((_, outcome)) = &job.outcome
        && state.now_ms.saturating_sub(job.began_ms) >= LONG_MS
    {
        let text = format!("afterrun: {}: {outcome}", job.what);
        // A semicolon would begin another argument.
        let text = visible(&text).replace(';', ",");
        out.push(Effect::Notify(text.chars().take(SAID).collect()));
    }
}
