//! One model call, from the new messages to the stored answer.

use waterline::message::Message;
use waterline::plan::{Action, Input, Plan, extend, plan};
use waterline_log::{Fold, Sent};
use waterline_provider::answer::{Answer, Delta};
use waterline_provider::http::Request;
use waterline_provider::wire::{self, Rendered};

use crate::error::SessionError;
use crate::live::{Live, blocking};
use crate::recover::Recovery;

impl Live {
    /// Says something to the model and has its answer. `emit` hears each delta as it comes; after a call that broke off it
    /// hears the next one from its beginning.
    ///
    /// # Errors
    /// When the log cannot be written, or when the provider's error stays after everything that could be tried.
    pub async fn call(&mut self, new: Vec<Message>, mut emit: impl FnMut(Delta)) -> Result<Answer, SessionError> {
        self.append(new).await?;
        let mut recovery = Recovery::default();
        loop {
            let plan = self.plan().await?;
            self.freeze(plan).await?;
            let context = self.render()?;
            match self.ask(&context, &mut emit).await {
                Ok(answer) => {
                    self.take(&answer).await?;
                    return Ok(answer);
                }
                Err(error) => self.recover(error, &mut recovery).await?,
            }
        }
    }

    fn input(&self) -> Input<'_> {
        Input::new(&self.history, &self.generation, &self.setup.policy, self.budget, self.model)
    }

    /// The usual answer needs the newest messages only; a fold needs them all.
    async fn plan(&mut self) -> Result<Plan, SessionError> {
        if let Some(extension) = extend(&self.input()) {
            return Ok(extension);
        }
        if !self.history.is_whole() {
            self.load_whole().await?;
        }
        Ok(plan(&self.input()))
    }

    /// What will be sent is stored before it is sent.
    async fn freeze(&mut self, plan: Plan) -> Result<(), SessionError> {
        let fold = match &plan.action {
            Action::Extend => None,
            Action::Fold { reason, from } => Some(Fold {
                reason: reason.clone(),
                tokens_before: *from,
                tokens_after: plan.tokens.after,
                ..Fold::default()
            }),
        };
        if fold.is_none() && plan.slots.is_empty() && self.session.frozen.is_some() {
            // The same once more: there is nothing to add to what is stored.
            self.generation.freeze(&self.history, plan);
            return Ok(());
        }
        let from = if fold.is_some() { 0 } else { self.generation.slots().len() };
        self.generation.freeze(&self.history, plan);
        let slots = self.generation.frozen(&self.history, from);
        let (head, past, cleared) = (self.generation.head(), self.history.past(), self.cleared);
        let planned = self.session.clone();
        self.session =
            blocking(&self.log, move |log| log.freeze(&planned, Sent { cleared, head, past, slots, fold })).await?;
        Ok(())
    }

    /// The context as the wire writes it, checked as the provider will read it. What is found is a bug of ours: it is
    /// counted, and the provider has the last word.
    fn render(&mut self) -> Result<Rendered, SessionError> {
        let wire = self.setup.endpoint.wire();
        let context: Vec<&Message> = self.generation.context(&self.history).collect();
        let rendered = wire::render(wire, &context);
        if rendered.messages.is_empty() {
            return Err(SessionError::Empty);
        }
        self.violations.extend(wire::check(wire, &rendered.texts()));
        Ok(rendered)
    }

    async fn ask(
        &self,
        context: &Rendered,
        emit: &mut impl FnMut(Delta),
    ) -> Result<Answer, waterline_provider::http::CallError> {
        let Self { setup, session, .. } = self;
        let options = wire::Options {
            cache_key: setup.options.cache_key.clone().or_else(|| Some(session.id.clone())),
            ..setup.options.clone()
        };
        let request = Request { model: &setup.model, context, tools: &setup.tools, options: &options };
        setup.endpoint.call(request, emit).await
    }
}
