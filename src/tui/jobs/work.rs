//! What each request does on the library. Whatever is large (a tree, a patch, a file's lines) is made
//! ready here, off the event loop, so that taking an answer in is quick.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::handle::Live;
use super::keep::keep;
use super::look::look;
use super::write::{restore, write_patch};
use super::{Context, DiffHandle, Handle, acting, paths, ready, syntax, unfold};
use crate::checkpoint::CheckpointRef;
use crate::progress::Watch;
use crate::review::{BaseChoice, Diff, FilePatch, PatchOptions};
use crate::runs::{Named, Opening, RunPage, RunRow};
use crate::text::visible;
use crate::tui::action::Id;
use crate::tui::message::{Answer, Compared, Request, Resolved, Unfold, Verified};
use crate::tui::state::{Detail, FileContent, FileTree, Marks, Patch};
use crate::{Error, ErrorKind, Result};

/// Runs to a page.
const PAGE: u32 = 200;
/// Ids that the palette offers.
const OFFERED: u32 = 8;
/// Characters of a title that are kept: it may be a whole prompt, and every frame looks at it.
const TITLE: usize = 1_000;
/// How much of the manifest's state is shown.
const STATE: usize = 400;

/// Does what `request` asks and answers.
pub(super) async fn carry_out(context: Context, request: Request, agreed: oneshot::Receiver<()>) {
    #[cfg(debug_assertions)]
    crate::tui::crash::rehearse_job(request.slot());
    let database = context.runs.database();
    let answer = match request {
        Request::Agents => {
            let mut agents = while_wanted(&context, database.agents()).await;
            for agent in agents.iter_mut().flatten() {
                agent.name.iter_mut().for_each(cut);
            }
            Answer::Agents(agents.map_err(Into::into))
        }
        Request::Page { filter, after, how } => {
            let page = while_wanted(&context, database.page(&filter, PAGE, after)).await;
            Answer::Page(how, page.map(listed).map_err(Into::into))
        }
        Request::Look(wanted) => {
            let seen = look(&context, *wanted).await;
            Answer::Look(seen.map(Box::new).map_err(Into::into))
        }
        Request::Binding { session } => {
            let binding = while_wanted(&context, database.binding(&session)).await;
            Answer::Bound(binding.map_err(Into::into))
        }
        Request::Open { run_id, opening_as } => {
            open(&context, &run_id, opening_as.as_deref()).await
        }
        Request::Reopen {
            run_id,
            opening_as,
            handle,
            reference,
        } => {
            reopen(
                &context,
                &run_id,
                opening_as.as_deref(),
                &handle,
                &reference,
            )
            .await
        }
        Request::Diff { handle, choice } => {
            Answer::Diff(diff(&context, &handle, &choice).await.map_err(Into::into))
        }
        Request::Patch {
            handle,
            diff,
            file,
            options,
        } => Answer::Patch(
            patch(&context, &handle, &diff, file, options)
                .await
                .map_err(Into::into),
        ),
        Request::File { handle, path } => file(&context, &handle, path).await,
        Request::Unfold { name, what } => {
            let detail = unfold(&context, what).await;
            Answer::Unfolded(name, detail.map_err(Into::into))
        }
        Request::Restore {
            handle,
            destination,
            only,
        } => restore(&context, &handle, &destination, only, agreed).await,
        Request::WritePatch { handle, diff, path } => Answer::PatchWritten(
            write_patch(&context, &handle, &diff, path)
                .await
                .map_err(Into::into),
        ),
        Request::Fetch {
            run_id,
            opening_as,
            path,
        } => Answer::Fetched(
            acting::fetch(&context, &run_id, opening_as.as_deref(), &path)
                .await
                .map_err(Into::into),
        ),
        Request::PatchText { handle, diff, file } => Answer::PatchText(
            acting::patch_text(&context, &handle, &diff, file)
                .await
                .map_err(Into::into),
        ),
        Request::Complete { text, folders } => {
            let watch = context.watch.clone();
            let work = move || paths::complete(text, folders, paths::home().as_deref(), &watch);
            Answer::Completed(blocking(work).await.map_err(Into::into))
        }
        Request::CopyToEdit {
            handle,
            path,
            editor,
            line,
        } => Answer::ToEdit(
            acting::copy_to_edit(&handle, path, editor, line)
                .await
                .map_err(Into::into),
        ),
        Request::Resolve { text, otherwise } => {
            let resolved = resolve(&context, text, otherwise).await;
            Answer::Resolved(match (resolved, otherwise) {
                // An action needs no database.
                (Err(_), Some(id)) => Ok(Resolved::Action(id)),
                (resolved, _) => resolved.map_err(Into::into),
            })
        }
        Request::Lookup { prefix } => {
            let found = while_wanted(&context, database.with_prefix(&prefix, OFFERED)).await;
            Answer::Found(found.map_err(Into::into))
        }
        Request::Turn { run_id, forward } => {
            let found = while_wanted(&context, turn(&context, &run_id, forward));
            Answer::Turn(found.await.map_err(Into::into))
        }
        Request::Keep { text } => {
            Answer::Kept(blocking(move || keep(&text)).await.map_err(Into::into))
        }
    };
    context.answer(answer);
}

/// The page as a list keeps it.
pub(super) fn listed(mut page: RunPage) -> RunPage {
    let runs = std::mem::take(&mut page.runs).into_iter();
    page.runs = runs.map(RunRow::listed).collect();
    let sessions = page.sessions.values_mut();
    sessions.for_each(|session| cut(&mut session.title));
    page
}

/// Cuts a title or a name to what is kept of it.
fn cut(title: &mut String) {
    if let Some((end, _)) = title.char_indices().nth(TITLE) {
        title.truncate(end);
        title.push('…');
    }
}

/// What `reading` answers, until the job is stopped. It is dropped then: a database that does not
/// answer must not hold a newer request up, and one that scans its rows stops.
pub(super) async fn while_wanted<T>(
    context: &Context,
    reading: impl Future<Output = Result<T>>,
) -> Result<T> {
    tokio::select! {
        answer = reading => answer,
        () = context.watch.token().cancelled() => Err(Error::cancelled()),
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Usage, "no run is open")
}

pub(super) fn live(handle: &Handle) -> Result<Arc<Live>> {
    handle.live().cloned().ok_or_else(gone)
}

pub(super) fn diff_of(handle: &DiffHandle) -> Result<Arc<Diff>> {
    handle.diff().cloned().ok_or_else(gone)
}

async fn open(context: &Context, run_id: &str, opening_as: Option<&str>) -> Answer {
    let opening = opening_as.map_or(Opening::Own, Opening::As);
    let opened = context.runs.open_run(run_id, &opening, &context.watch);
    let run = match while_wanted(context, opened).await {
        Ok(run) => run,
        Err(error) => {
            // For the list and the Info view; the refusal stands without it.
            let row = match error.kind() {
                ErrorKind::Cancelled | ErrorKind::NotFound => None,
                _ => context.runs.database().run(run_id).await.ok().flatten(),
            };
            return Answer::Opened(Err(error.into()), row.map(Box::new));
        }
    };
    let archive = Arc::clone(&run.archive);
    let tree = blocking({
        let archive = Arc::clone(&archive);
        move || Ok(FileTree::build(archive.entries(), None))
    });
    match tree.await {
        Ok(tree) => Answer::Opened(
            Ok(Box::new(Verified {
                state: ready::shorten(&archive.state().to_serde().to_string(), STATE),
                unrestorable: archive
                    .unrestorable()
                    .map(|error| visible(error.message()).into_owned()),
                gzipped: archive.is_compressed(),
                handle: Handle::new(run.row.clone(), archive, context.alive.clone()),
                row: run.row,
                reference: run.reference,
                tree: Arc::new(tree),
            })),
            None,
        ),
        Err(error) => Answer::Opened(Err(error.into()), None),
    }
}

/// Whether a held archive is still what the run commits to; opens the run anew where it is not, so
/// that whatever changed is answered in its own words.
async fn reopen(
    context: &Context,
    run_id: &str,
    opening_as: Option<&str>,
    handle: &Handle,
    reference: &CheckpointRef,
) -> Answer {
    let opening = opening_as.map_or(Opening::Own, Opening::As);
    let ask = async {
        let store = context.runs.checkpoint_store().await?;
        let (row, now) = context.runs.pass_gate(run_id, &opening).await?;
        let same = now == *reference && store.contains(&now).await?;
        Ok::<_, Error>(same.then_some(row))
    };
    let asked = tokio::select! {
        asked = ask => asked,
        () = context.watch.token().cancelled() => return Answer::Opened(Err(Error::cancelled().into()), None),
    };
    match asked {
        Ok(Some(row)) if handle.live().is_some() => Answer::Reopened(Box::new(row)),
        _ => open(context, run_id, opening_as).await,
    }
}

async fn diff(
    context: &Context,
    handle: &Handle,
    choice: &BaseChoice,
) -> Result<(Box<Compared>, Arc<FileTree>)> {
    let live = live(handle)?;
    let review = live.review(&context.watch).await?;
    let diff = review
        .diff(&context.runs, &live.row, choice, &context.watch)
        .await?;
    let diff = Arc::new(diff);
    blocking(move || {
        let marks = Marks {
            root: &diff.root,
            files: &diff.files,
            ignored: &diff.ignored_paths,
            notices: &diff.notices,
        };
        let tree = FileTree::build(live.archive.entries(), Some(marks));
        Ok((Box::new(Compared::of(&diff)), Arc::new(tree)))
    })
    .await
}

async fn patch(
    context: &Context,
    handle: &Handle,
    diff: &DiffHandle,
    file: usize,
    options: PatchOptions,
) -> Result<Patch> {
    let (live, diff) = (live(handle)?, diff_of(diff)?);
    let change = diff.files.get(file).ok_or_else(gone)?;
    // A cursor that runs down a list asks faster than a worker answers. Stopping a worker costs more
    // than letting it finish, so one patch is made at a time and only the newest that waits is next.
    let _turn = live.turn.lock().await;
    context.watch.check()?;
    let watch = Watch::new(context.closing.clone());
    let review = live.review(&watch).await?;
    let hunks = match &change.opaque {
        Some(_) => FilePatch::default(),
        None => review.patch(&diff, file, options, &watch).await?,
    };
    let diff = Arc::clone(&diff);
    blocking(move || Ok(ready::rows(&diff, file, &hunks, options))).await
}

/// Answers the content at once, and the colours of a text when they are made.
async fn file(context: &Context, handle: &Handle, path: Vec<u8>) -> Answer {
    let read = match live(handle) {
        Ok(live) => {
            let path = path.clone();
            blocking(move || ready::content(&live.archive, &path)).await
        }
        Err(error) => Err(error),
    };
    let (content, bytes) = match read {
        Ok((content @ FileContent::Text(..), bytes)) => (content, bytes),
        other => return Answer::File(other.map(|(content, _)| content).map_err(Into::into)),
    };
    context.answer(Answer::File(Ok(content)));
    let watch = context.watch.clone();
    let colours = blocking(move || Ok(syntax::colours(&path, &bytes, &watch))).await;
    Answer::Coloured(colours.unwrap_or_default())
}

async fn unfold(context: &Context, what: Unfold) -> Result<Detail> {
    match what {
        Unfold::Row { run_id } => {
            let row = context.runs.database().run(&run_id).await?;
            let row = row
                .ok_or_else(|| Error::new(ErrorKind::NotFound, "the row is not there any more"))?;
            blocking(move || Ok(Detail::Json(unfold::row(&row)))).await
        }
        Unfold::Commit { handle, diff, id } => {
            let (live, diff) = (live(&handle)?, diff_of(&diff)?);
            // As for a file's hunks: one at a time, and a worker that has begun may finish.
            let _turn = live.turn.lock().await;
            context.watch.check()?;
            let watch = Watch::new(context.closing.clone());
            let review = live.review(&watch).await?;
            let diff = review.commit_diff(&diff, &id, &watch).await?;
            blocking(move || Ok(Detail::Commit(unfold::commit(&diff)))).await
        }
    }
}

async fn resolve(context: &Context, text: String, otherwise: Option<Id>) -> Result<Resolved> {
    let named = while_wanted(context, context.runs.named(&text)).await?;
    Ok(match (named, otherwise) {
        (Named::Run(run_id), _) => Resolved::Run(run_id),
        (Named::Several(found), _) => Resolved::Several(found),
        (Named::Nothing, Some(id)) => Resolved::Action(id),
        (Named::Nothing, None) => {
            let text = visible(&text).into_owned();
            let none = format!("Run {text} does not exist");
            return Err(Error::new(ErrorKind::NotFound, none)
                .hint("no action and no changed file is named so either"));
        }
    })
}

async fn turn(context: &Context, run_id: &str, forward: bool) -> Result<String> {
    let database = context.runs.database();
    let row = database.run(run_id).await?.ok_or_else(gone)?;
    let session = database.session(&row.session_id).await?;
    let at = session
        .iter()
        .position(|run| run.run_id == run_id)
        .ok_or_else(gone)?;
    let beside = if forward {
        at.checked_add(1)
    } else {
        at.checked_sub(1)
    };
    let found = beside.and_then(|beside| session.get(beside));
    found.map(|run| run.run_id.clone()).ok_or_else(|| {
        let end = if forward { "last" } else { "first" };
        Error::new(
            ErrorKind::NotFound,
            format!("this is the session's {end} turn"),
        )
    })
}

pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    crate::checkpoint::blocking(work).await
}
