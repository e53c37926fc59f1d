import {
  readState as parseState,
  resetBrake,
  STATE,
  type StoredState,
  writeState,
} from "#core/node-lifecycle/state.ts";
import { applyShared } from "#kube/apply/apply-shared.ts";
import { readState } from "#kube/apply/read.ts";
import type { Transport } from "#kube/client/transport.ts";

/** What a reset came to. */
export interface Reset {
  readonly reset: boolean;
  readonly message: string;
}

/** A running controller writes the state at most every fifteen seconds. */
const MAX_ATTEMPTS = 5;

/** Lets the brake go, by compare-and-swap: what somebody else wrote meanwhile is read, and decided on anew. */
export async function letGoOfBrake(
  transport: Transport,
  cluster: string,
  signal: AbortSignal,
): Promise<Reset> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const { state, configMap } = await usableState(transport, signal);
    if (state.brake === undefined)
      return {
        reset: false,
        message: `the brake of cluster ${cluster} is not pulled: nothing was changed`,
      };
    const applied = await applyShared(
      transport,
      writeState(resetBrake(state, new Date()), configMap),
      signal,
    );
    if (applied.kind === "done") {
      const message = `the brake of cluster ${cluster}, pulled ${state.brake.since}, is let go: deletions count from anew, and nodes are missed from anew`;
      return { reset: true, message };
    }
    if (applied.kind === "failed") throw new Error(`the brake was not reset: ${refused(applied.because)}`);
  }
  throw new Error(
    `the brake was not reset: somebody else wrote the state ${MAX_ATTEMPTS} times meanwhile; try again`,
  );
}

function refused({ code, message }: { readonly code: string; readonly message: string }): string {
  const remedy =
    code === "Forbidden"
      ? "; sign in as one that may update it, as the ClusterRole serverless-ccm-node-lifecycle may"
      : "";
  return `${message}${remedy}`;
}

type UsableState = Extract<StoredState, { readonly kind: "state" }>;

/** The state of deletion as it is now; rejects where there is none, or none that can be used, and says what to do. */
export async function usableState(transport: Transport, signal: AbortSignal): Promise<UsableState> {
  const read = await readState(transport, STATE, signal);
  if (read.kind === "unavailable")
    throw new Error(`${read.because.message}; until then no node of this cluster is deleted`);
  const stored = parseState(read);
  if (stored.kind === "state") return stored;
  throw new Error(`${stored.message}; until then no node of this cluster is deleted`);
}
