import * as z from "zod";
import type { ApiObject, Controller, ReadState, StateReference } from "#core/controller.ts";
import type { ObjectReport } from "#core/report.ts";
import type { ObjectEntry } from "#functions/parts/parse-objects.ts";
import { forEachBounded } from "#kube/apply/for-each-bounded.ts";
import { readObject } from "#kube/apply/requests.ts";
import type { Transport } from "#kube/client/transport.ts";

/** Objects of a batch as they are now; one with a report is not decided on any more. */
export interface ReadBatch {
  readonly objects: readonly {
    readonly index: number;
    readonly object: ApiObject | undefined;
    readonly report: ObjectReport | undefined;
  }[];
  readonly reads: number;
}

const MAX_AT_ONCE = 32;

/** Reads the object that a batch is decided under. */
export async function readState(
  transport: Transport,
  { at, ...resource }: StateReference,
  signal: AbortSignal,
): Promise<ReadState> {
  const read = await readObject(transport, resource, at, parseAny, signal);
  if (read.kind === "object") return { kind: "object", object: read.raw };
  return read.kind === "gone" ? { kind: "absent" } : { kind: "unreadable", message: read.message };
}

/** Reads the objects of a batch again, after a write that they all had to wait for. */
export async function readAgain(
  transport: Transport,
  controller: Controller,
  entries: readonly ObjectEntry[],
  signal: AbortSignal,
): Promise<ReadBatch> {
  const objects: ReadBatch["objects"][number][] = [];
  await forEachBounded(entries, MAX_AT_ONCE, async ({ index, object: before }) => {
    const { namespace, name, uid } = before.metadata;
    const parse = (value: unknown) => controller.parse(value);
    const read = await readObject(transport, controller.resource, before.metadata, parse, signal);
    const report = (part: Pick<ObjectReport, "outcome" | "because" | "afterSeconds">): void => {
      const about = { index, ...(namespace === undefined ? {} : { namespace }), name, uid };
      objects.push({ index, object: undefined, report: { ...about, ...part } });
    };
    if (read.kind === "object" && read.object.metadata.uid === uid) {
      objects.push({ index, object: read.object, report: undefined });
    } else if (read.kind === "object" || read.kind === "gone") {
      report({ outcome: "skipped", because: { code: "Gone", message: `${name} with uid ${uid} is gone` } });
    } else {
      report({ outcome: "retry", because: { code: "Unavailable", message: read.message }, afterSeconds: 2 });
    }
  });
  return { objects, reads: entries.length };
}

const AnyObject = z.looseObject({ metadata: z.looseObject({}) });

function parseAny(value: unknown) {
  const parsed = AnyObject.safeParse(value);
  if (parsed.success) return { kind: "object", object: parsed.data } as const;
  return { kind: "malformed", faults: [] } as const;
}
