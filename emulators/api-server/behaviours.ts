import type { Verb } from "#emulators/api-server/request-info.ts";

/** Answers that requests get instead of being done. */
export interface Failure {
  /** How many requests. */
  readonly times: number;
  /** HTTP status: 429, or one from 500 on. */
  readonly code: number;
  /** Seconds, as header and in the Status' details. */
  readonly retryAfterSeconds?: number;
  /** Of these verbs; of those that write without it. */
  readonly verbs?: readonly Verb[];
}

/** The misbehaviours of real API servers that a test can ask for, as the request handlers see them. */
export class Behaviours {
  bookmarkIntervalMs: number;
  bookmarksHeld = false;
  delayMs = 0;
  expiredAs: "event" | "status" = "event";
  #failures: { times: number; readonly failure: Failure }[] = [];
  #lost: { times: number; readonly verbs: readonly Verb[] }[] = [];

  constructor(bookmarkIntervalMs: number) {
    this.bookmarkIntervalMs = bookmarkIntervalMs;
  }

  failNext(failure: Failure): void {
    this.#failures.push({ times: failure.times, failure });
  }

  loseAnswers(times: number, verbs: readonly Verb[] = WRITES): void {
    this.#lost.push({ times, verbs });
  }

  /** The failure that this request is to get, used up by asking. */
  takeFailure(verb: Verb): Failure | undefined {
    const entry = this.#failures.find(({ failure }) => (failure.verbs ?? WRITES).includes(verb));
    if (entry === undefined) return undefined;
    entry.times -= 1;
    this.#failures = this.#failures.filter(({ times }) => times > 0);
    return entry.failure;
  }

  /** Whether this request is to be done and its answer lost, used up by asking. */
  takeLoss(verb: Verb): boolean {
    const entry = this.#lost.find(({ verbs }) => verbs.includes(verb));
    if (entry === undefined) return false;
    entry.times -= 1;
    this.#lost = this.#lost.filter(({ times }) => times > 0);
    return true;
  }
}

const WRITES: readonly Verb[] = ["create", "update", "patch", "delete"];
