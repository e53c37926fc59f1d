import type { Verb } from "#emulators/api-server/request-info.ts";

/** Failures in place of carrying out requests. */
export interface Failure {
  /** The number of requests. */
  readonly times: number;
  /** HTTP status: 429, or one from 500 on. */
  readonly code: number;
  /** Seconds, in the header and in the Status's details. */
  readonly retryAfterSeconds?: number;
  /** The verbs concerned; default: those that write. */
  readonly verbs?: readonly Verb[];
}

/** The misbehaviours of real API servers that a test can request, as the request handlers see them. */
export class Behaviours {
  bookmarkIntervalMs: number;
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

  /** Returns the failure of this request, and counts it as used. */
  takeFailure(verb: Verb): Failure | undefined {
    const entry = this.#failures.find(({ failure }) => (failure.verbs ?? WRITES).includes(verb));
    if (entry === undefined) return undefined;
    entry.times -= 1;
    this.#failures = this.#failures.filter(({ times }) => times > 0);
    return entry.failure;
  }

  /** Returns whether this request is carried out and its answer lost, and counts it as used. */
  takeLoss(verb: Verb): boolean {
    const entry = this.#lost.find(({ verbs }) => verbs.includes(verb));
    if (entry === undefined) return false;
    entry.times -= 1;
    this.#lost = this.#lost.filter(({ times }) => times > 0);
    return true;
  }
}

const WRITES: readonly Verb[] = ["create", "update", "patch", "delete"];
