import * as z from "zod";
import { ClustersFileError, formatFaults, isFaulty } from "#config/clusters-file.ts";
import { withDryRunInEntry } from "#config/edit-clusters-file.ts";
import { readFound } from "#config/registry/kubernetes/build-entries.ts";
import { DEFAULT_ANNOTATIONS, PREFIX } from "#config/registry/kubernetes/build-entry.ts";
import { decodeSecretValue, type FoundCluster } from "#config/registry/kubernetes/found-cluster.ts";
import {
  type KubernetesRegistryOptions,
  listFound,
} from "#config/registry/kubernetes/kubernetes-registry.ts";
import { parseJson } from "#core/parse-json.ts";
import { classifyAnswer } from "#kube/client/answer.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The change that sets `policies.applyDryRun` of a cluster in its management cluster. */
export type DryRunPlan =
  /** `place` names the object. `write` rejects if the object was not changed. */
  | { readonly kind: "change"; readonly place: string; readonly write: () => Promise<void> }
  | { readonly kind: "same"; readonly place: string }
  | { readonly kind: "refused"; readonly because: string };

const ANNOTATION_KEY = "policies.dryRun";
const READ_TIMEOUT_MS = 60_000;
const MAX_ATTEMPTS = 3;

/**
 * Plans to set `policies.applyDryRun` of one cluster, by an annotation of its object or in the entry in its
 * Secret. Refuses if the change would have no effect. Rejects with `ClustersFileError` if the management
 * cluster cannot be read.
 */
export async function planDryRunIn(
  options: KubernetesRegistryOptions,
  name: string,
  dryRun: boolean,
): Promise<DryRunPlan> {
  return withConnection(options, async (transport, signal) => {
    const all = await listFound(options, transport, signal);
    const read = await readFound(all, transport, { ...options, home: options.reference }, signal);
    const match = read.find(({ entry }) => entry.name === name);
    if (match === undefined)
      return { kind: "refused", because: `${options.reference} has no cluster ${name}` };
    const { found, entry } = match;
    if (isFaulty(entry)) return { kind: "refused", because: formatFaults(found.place, entry.faults) };
    if (entry.policies.dryRun === dryRun) return { kind: "same", place: found.place };
    const because = checkDryRunEdit(found, name, dryRun, options.annotations ?? DEFAULT_ANNOTATIONS);
    if (because !== undefined) return { kind: "refused", because };
    return { kind: "change", place: found.place, write: () => writeTo(found, name, dryRun, options) };
  });
}

function checkDryRunEdit(
  { described, place }: FoundCluster,
  name: string,
  dryRun: boolean,
  counting: readonly string[],
): string | undefined {
  if (described.kind === "entry") {
    const edited = withDryRunInEntry(described.text, place, name, dryRun);
    return edited.kind === "refused" ? edited.because : undefined;
  }
  if (counting.includes(ANNOTATION_KEY)) return undefined;
  return `annotation ${PREFIX}${ANNOTATION_KEY} of ${place} would not count: list it for this command and for the relay, --cluster-annotations ${[...counting, ANNOTATION_KEY].join(",")}, if its writers may decide it; or set policies.dryRun in --cluster-defaults, for all clusters at once`;
}

const Written = z.object({
  metadata: z.object({ resourceVersion: z.string() }),
  data: z.object({ entry: z.string() }).partial().nullish(),
});

/** Rereads the object before each write and writes with its version as the precondition. */
async function writeTo(
  found: FoundCluster,
  name: string,
  dryRun: boolean,
  options: KubernetesRegistryOptions,
): Promise<void> {
  await withConnection(options, async (transport, signal) => {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const answer = await transport.send({ method: "GET", path: found.path, signal });
      const read = Written.safeParse(parseJson(answer.body)).data;
      if (answer.status !== 200 || read === undefined)
        throw createNotChangedError(found, `read: ${describeAnswer(answer)}`);
      const { resourceVersion } = read.metadata;
      const change = buildDryRunChange(found, read.data?.entry, name, dryRun);
      const body = { ...change, metadata: { ...change.metadata, resourceVersion } };
      const contentType = "application/merge-patch+json";
      const written = await transport.send({ method: "PATCH", path: found.path, body, contentType, signal });
      if (written.status === 200) return;
      if (written.status !== 409)
        throw createNotChangedError(found, `changed: ${describeAnswer(written)}; allow to patch it`);
    }
    throw createNotChangedError(
      found,
      `not changed: another writer changed it ${MAX_ATTEMPTS} times; start again`,
    );
  });
}

function buildDryRunChange(
  { described, place }: FoundCluster,
  entry: string | undefined,
  name: string,
  dryRun: boolean,
): { readonly metadata?: object; readonly data?: object } {
  if (described.kind !== "entry")
    return { metadata: { annotations: { [`${PREFIX}${ANNOTATION_KEY}`]: `${dryRun}` } } };
  const edited = withDryRunInEntry(decodeSecretValue(entry ?? ""), place, name, dryRun);
  if (edited.kind === "refused") throw new Error(edited.because);
  if (edited.kind === "same") return {};
  return { data: { entry: Buffer.from(edited.after).toString("base64") } };
}

function describeAnswer(answer: Parameters<typeof classifyAnswer>[0]): string {
  const said = classifyAnswer(answer);
  return "message" in said ? said.message : `${answer.status}`;
}

function createNotChangedError({ place }: FoundCluster, why: string): Error {
  return new Error(`${place} of the management cluster cannot be ${why}`);
}

async function withConnection<Result>(
  { connect, reference }: KubernetesRegistryOptions,
  use: (transport: Transport, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const transport = await connect().catch((error: unknown) => {
    const message = error instanceof Error ? error.message : "cannot be signed in to";
    throw new ClustersFileError("Unreadable", reference, [{ path: "", message }], error);
  });
  try {
    return await use(transport, AbortSignal.timeout(READ_TIMEOUT_MS));
  } finally {
    await transport.close();
  }
}
