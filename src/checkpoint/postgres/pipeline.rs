//! Questions that are asked before the answers to earlier ones are there; answers come in order.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Futures under way beside each other.
pub(super) struct Pipeline<F: Future>(VecDeque<Step<F>>);

enum Step<F: Future> {
    Waits(Pin<Box<F>>),
    Answered(F::Output),
}

impl<F: Future> Pipeline<F> {
    pub(super) fn new() -> Self {
        Self(VecDeque::new())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a future, which begins with the next wait for an answer.
    pub(super) fn push(&mut self, future: F) {
        self.0.push_back(Step::Waits(Box::pin(future)));
    }

    /// The answer of the first one; `None` when there is none.
    pub(super) async fn next(&mut self) -> Option<F::Output> {
        poll_fn(|context| {
            for step in &mut self.0 {
                if let Step::Waits(future) = step
                    && let Poll::Ready(answer) = future.as_mut().poll(context)
                {
                    *step = Step::Answered(answer);
                }
            }
            match self.0.pop_front() {
                Some(Step::Answered(answer)) => Poll::Ready(Some(answer)),
                Some(waits) => {
                    self.0.push_front(waits);
                    Poll::Pending
                }
                None => Poll::Ready(None),
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn later_ones_begin_at_once_and_answer_in_order() {
        let asked = Arc::new(Notify::new());
        let mut pipeline = Pipeline::new();
        for number in [1, 2, 3] {
            let asked = Arc::clone(&asked);
            pipeline.push(async move {
                match number {
                    // Would wait for ever, did the last one wait for its answer.
                    1 => asked.notified().await,
                    3 => asked.notify_one(),
                    _ => {}
                }
                number
            });
        }
        let mut answers = Vec::new();
        while let Some(answer) = pipeline.next().await {
            answers.push(answer);
        }
        assert_eq!(answers, [1, 2, 3]);
    }
}
