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

/** The result of a reset. */
export interface ResetResult {
  readonly reset: boolean;
  readonly message: string;
}

/** A running controller writes the state at most every fifteen seconds. */
const MAX_ATTEMPTS = 5;

/** Releases the brake by compare-and-swap: after a concurrent write it reads again and decides again. */
export async function releaseBrake(
  transport: Transport,
  cluster: string,
  signal: AbortSignal,
): Promise<ResetResult> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const { state, configMap } = await readUsableState(transport, signal);
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
      const message = `the brake of cluster ${cluster}, pulled ${state.brake.since}, is released: deletions and missing nodes are counted from zero`;
      return { reset: true, message };
    }
    if (applied.kind === "failed")
      throw new Error(`the brake was not reset: ${formatRefusal(applied.because)}`);
  }
  throw new Error(
    `the brake was not reset: another writer changed the state ${MAX_ATTEMPTS} times meanwhile; try again`,
  );
}

function formatRefusal({ code, message }: { readonly code: string; readonly message: string }): string {
  const remedy =
    code === "Forbidden"
      ? "; sign in as one that may update it, as the ClusterRole serverless-ccm-node-lifecycle may"
      : "";
  return `${message}${remedy}`;
}

type UsableState = Extract<StoredState, { readonly kind: "state" }>;

/** Reads the current deletion state; rejects a missing or unusable one and says what to do. */
export async function readUsableState(transport: Transport, signal: AbortSignal): Promise<UsableState> {
  const read = await readState(transport, STATE, signal);
  if (read.kind === "unavailable")
    throw new Error(`${read.because.message}; until then no node of this cluster is deleted`);
  const stored = parseState(read);
  if (stored.kind === "state") return stored;
  throw new Error(`${stored.message}; until then no node of this cluster is deleted`);
}
