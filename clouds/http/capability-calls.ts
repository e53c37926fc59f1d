import type { ActionCall, ActionResult, ObservationsResult } from "#clouds/cloud.ts";
import type { Turn } from "#clouds/http/api.ts";
import { HELD_BACK } from "#clouds/http/budget.ts";
import { createMeter } from "#clouds/http/meter.ts";
import { abortedBefore } from "#clouds/http/outcome.ts";
import type { Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import { messageOf } from "#core/message-of.ts";

/** What the calls of a capability have in common. */
export interface CapabilityCallsParts {
  /** How sentences call the cloud. */
  readonly title: string;
  /** Opens a call's share of the account's quotas; returns what closes it. */
  readonly enter: (call: ActionCall) => () => void;
  /** Whether questions have to wait, as little is left of the quota; never, where it is not said. */
  readonly isHeldBack?: () => boolean;
}

/** What came of an action, without what it took. */
export type Performed = Omit<ActionResult, "usage">;

/** How a capability of a cloud that is served by HTTP is asked and acts: within its share, counted, and without ever rejecting. */
export interface CapabilityCalls {
  /** `answer` is called once, for all questions in their order. */
  observe(
    questions: readonly unknown[],
    call: ActionCall,
    answer: (turn: Turn) => Promise<readonly Observation[]>,
  ): Promise<ObservationsResult>;
  act(
    action: CloudAction,
    call: ActionCall,
    perform: (turn: Turn) => Promise<Performed>,
  ): Promise<ActionResult>;
}

export function createCapabilityCalls({
  title,
  enter,
  isHeldBack = () => false,
}: CapabilityCallsParts): CapabilityCalls {
  const aborted = abortedBefore(title);
  return {
    async observe(questions, call, answer) {
      const { signal, onRequest } = call;
      const meter = createMeter(onRequest);
      const all = (each: Observation) => ({ answers: questions.map(() => each), usage: meter.usage() });
      if (questions.length === 0 || signal.aborted) return all(aborted);
      if (isHeldBack()) return all(HELD_BACK);
      const leave = enter(call);
      try {
        const answers = await answer({ signal, meter });
        return { answers, usage: meter.usage() };
      } catch (error) {
        // Nothing is known to come here; but the contract is that nobody's batch rejects.
        return all({ kind: "error", code: "Unavailable", message: `${title}: ${messageOf(error)}` });
      } finally {
        leave();
      }
    },
    async act({ action }, call, perform) {
      const { signal, onRequest } = call;
      const meter = createMeter(onRequest);
      if (signal.aborted) return { answer: aborted, usage: meter.usage() };
      const leave = enter(call);
      try {
        return { ...(await perform({ signal, meter })), usage: meter.usage() };
      } catch (error) {
        // Whether it was done nobody knows: it is looked at again.
        const message = `${action}: ${messageOf(error)}`;
        return { answer: { kind: "error", code: "Unavailable", message }, usage: meter.usage() };
      } finally {
        leave();
      }
    },
  };
}

/** Answers one question after the other. */
export async function inOrder(
  questions: readonly unknown[],
  answer: (question: unknown) => Promise<Observation>,
): Promise<readonly Observation[]> {
  const answers: Observation[] = [];
  for (const question of questions) answers.push(await answer(question));
  return answers;
}
