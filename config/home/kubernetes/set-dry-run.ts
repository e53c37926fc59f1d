import * as z from "zod";
import { ClustersFileError, isFaulty, sentenceOf } from "#config/clusters-file.ts";
import { withDryRunInEntry } from "#config/edit-clusters-file.ts";
import { readFound } from "#config/home/kubernetes/entries-of-found.ts";
import { DEFAULT_ANNOTATIONS, PREFIX } from "#config/home/kubernetes/entry-of-found.ts";
import { decoded, type FoundCluster } from "#config/home/kubernetes/found-cluster.ts";
import { type KubernetesHomeOptions, listFound } from "#config/home/kubernetes/kubernetes-home.ts";
import { classifyAnswer, parseJson } from "#kube/client/answer.ts";
import type { Transport } from "#kube/client/transport.ts";

/** What setting `policies.dryRun` of a cluster takes in its management cluster. */
export type DryRunPlan =
  /** `place` is the object in words. `write` rejects where the object was not changed. */
  | { readonly kind: "change"; readonly place: string; readonly write: () => Promise<void> }
  | { readonly kind: "same"; readonly place: string }
  | { readonly kind: "refused"; readonly because: string };

const ANNOTATION_KEY = "policies.dryRun";
const READ_TIMEOUT_MS = 60_000;
const MAX_ATTEMPTS = 3;

/**
 * Plans to set `policies.dryRun` of one cluster: by an annotation of the object that describes it, or in the entry that its Secret holds.
 * Refused where that would not count. Rejects with `ClustersFileError` where the management cluster cannot be read.
 */
export async function planDryRunIn(
  options: KubernetesHomeOptions,
  name: string,
  dryRun: boolean,
): Promise<DryRunPlan> {
  return connected(options, async (transport, signal) => {
    const all = await listFound(options, transport, signal);
    const read = await readFound(all, transport, { ...options, home: options.reference }, signal);
    const one = read.find(({ entry }) => entry.name === name);
    if (one === undefined) return { kind: "refused", because: `${options.reference} has no cluster ${name}` };
    const { found, entry } = one;
    if (isFaulty(entry)) return { kind: "refused", because: sentenceOf(found.place, entry.faults) };
    if (entry.policies.dryRun === dryRun) return { kind: "same", place: found.place };
    const because = refusalOf(found, name, dryRun, options.annotations ?? DEFAULT_ANNOTATIONS);
    if (because !== undefined) return { kind: "refused", because };
    return { kind: "change", place: found.place, write: () => writeTo(found, name, dryRun, options) };
  });
}

function refusalOf(
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
  return `annotation ${PREFIX}${ANNOTATION_KEY} of ${place} would not count: list it for this command and for the relay, --cluster-annotations ${[...counting, ANNOTATION_KEY].join(",")}, where whoever writes the object may decide it; or set policies.dryRun in --cluster-defaults, for all clusters at once`;
}

const Written = z.object({
  metadata: z.object({ resourceVersion: z.string() }),
  data: z.object({ entry: z.string() }).partial().nullish(),
});

/** Reads the object again before each write, which names the version that was read. */
async function writeTo(
  found: FoundCluster,
  name: string,
  dryRun: boolean,
  options: KubernetesHomeOptions,
): Promise<void> {
  await connected(options, async (transport, signal) => {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const answer = await transport.send({ method: "GET", path: found.path, signal });
      const read = Written.safeParse(parseJson(answer.body)).data;
      if (answer.status !== 200 || read === undefined) throw notChanged(found, `read: ${wordsOf(answer)}`);
      const { resourceVersion } = read.metadata;
      const change = changeOf(found, read.data?.entry, name, dryRun);
      const body = { ...change, metadata: { ...change.metadata, resourceVersion } };
      const contentType = "application/merge-patch+json";
      const written = await transport.send({ method: "PATCH", path: found.path, body, contentType, signal });
      if (written.status === 200) return;
      if (written.status !== 409) throw notChanged(found, `changed: ${wordsOf(written)}; allow to patch it`);
    }
    throw notChanged(found, `changed: somebody else wrote it ${MAX_ATTEMPTS} times meanwhile; start again`);
  });
}

function changeOf(
  { described, place }: FoundCluster,
  entry: string | undefined,
  name: string,
  dryRun: boolean,
): { readonly metadata?: object; readonly data?: object } {
  if (described.kind !== "entry")
    return { metadata: { annotations: { [`${PREFIX}${ANNOTATION_KEY}`]: `${dryRun}` } } };
  const edited = withDryRunInEntry(decoded(entry ?? ""), place, name, dryRun);
  if (edited.kind === "refused") throw new Error(edited.because);
  if (edited.kind === "same") return {};
  return { data: { entry: Buffer.from(edited.after).toString("base64") } };
}

function wordsOf(answer: Parameters<typeof classifyAnswer>[0]): string {
  const said = classifyAnswer(answer);
  return "message" in said ? said.message : `${answer.status}`;
}

function notChanged({ place }: FoundCluster, why: string): Error {
  return new Error(`${place} of the management cluster cannot be ${why}`);
}

async function connected<Result>(
  { connect, reference }: KubernetesHomeOptions,
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
