import * as z from "zod";
import { editedStops } from "#config/switch/edited.ts";
import { StopSwitchError } from "#config/switch/error.ts";
import { assumeStop, parseStops, type StopEntry, textOfStops } from "#config/switch/stops.ts";
import type { StopSwitch } from "#config/switch/switch.ts";
import type { ClusterWrite } from "#core/decision.ts";
import { messageOf } from "#core/message-of.ts";
import { shown } from "#core/shown-text.ts";
import { type ObjectRead, readObject, sendWrite } from "#kube/apply/requests.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The ConfigMap, and its key. */
export const STOP_CONFIG_MAP = "serverless-ccm-stop";
const KEY = "stop";

export interface ConfigMapSwitchOptions {
  /** As an operator writes it. */
  readonly reference: string;
  readonly namespace: string;
  /** Opens a connection to the management cluster's API server, which is closed after use. */
  readonly connect: () => Promise<Transport>;
}

const Found = z.looseObject({
  metadata: z.looseObject({ uid: z.string(), resourceVersion: z.string() }),
  data: z.record(z.string(), z.string()).nullish(),
});
type Found = z.output<typeof Found>;

const CONFIG_MAPS = { apiVersion: "v1", name: "configmaps" } as const;

/** Others may write at the same time, and each of them once or twice. */
const MAX_ATTEMPTS = 10;

/** A ConfigMap of a management cluster as the switch; where there is none nothing is stopped. */
export function configMapSwitch({ reference, namespace, connect }: ConfigMapSwitchOptions): StopSwitch {
  const at = { namespace, name: STOP_CONFIG_MAP };
  const target = { on: "cluster", apiVersion: "v1", resource: "configmaps", ...at } as const;
  const failed = (code: "Unreadable" | "NotWritten", error: unknown): StopSwitchError =>
    error instanceof StopSwitchError
      ? error
      : new StopSwitchError(code, reference, messageOf(error), { cause: error });

  async function find(transport: Transport, signal: AbortSignal): Promise<Found | undefined> {
    const read: ObjectRead<Found> = await readObject(transport, CONFIG_MAPS, at, parse, signal);
    if (read.kind === "gone") return undefined;
    if (read.kind === "object") return read.object;
    throw new StopSwitchError(
      "Unreadable",
      reference,
      `cannot be read: ${namespace}/${STOP_CONFIG_MAP}: ${read.message}`,
    );
  }

  const stopsIn = (found: Found | undefined): readonly StopEntry[] => {
    const { [KEY]: text, ...strays } = found?.data ?? {};
    const stopped = text === undefined ? [] : parseStops(reference, text);
    const [first] = Object.keys(strays);
    if (first === undefined) return stopped;
    const message = `has keys that name no stop, such as ${shown(first, 80)} (writes of all clusters are held back): remove them from the ConfigMap ${namespace}/${STOP_CONFIG_MAP}, whose record is under ${KEY}`;
    throw new StopSwitchError("Malformed", reference, message, {
      stopped: [...stopped, assumeStop(undefined)],
    });
  };

  async function withTransport<Result>(use: (transport: Transport) => Promise<Result>): Promise<Result> {
    const transport = await connect();
    try {
      return await use(transport);
    } finally {
      await transport.close();
    }
  }

  return {
    name: reference,
    read: (signal) =>
      withTransport(async (transport) => stopsIn(await find(transport, signal))).catch((error) => {
        throw failed("Unreadable", error);
      }),
    change: (change, signal) =>
      withTransport(async (transport) => {
        for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
          const found = await find(transport, signal);
          const isAnew = change.kind === "stop" && change.anew === true;
          const edited = await editedStops(change, async () => stopsIn(found));
          if (edited === undefined) return;
          const answer = await sendWrite(transport, writeOf(found, textOfStops(edited), isAnew), signal);
          if (answer.kind === "applied") return;
          if (found === undefined && answer.kind === "gone")
            throw new StopSwitchError(
              "NotWritten",
              reference,
              `was not changed: make the namespace ${namespace}`,
            );
          if (answer.kind !== "conflict" && answer.kind !== "exists" && answer.kind !== "gone")
            throw new StopSwitchError("NotWritten", reference, `was not changed: ${answer.message}`);
        }
        throw new StopSwitchError(
          "Contended",
          reference,
          "was changed by others meanwhile, again and again; try again",
        );
      }).catch((error) => {
        throw failed("NotWritten", error);
      }),
  };

  function writeOf(found: Found | undefined, text: string, isAnew: boolean): ClusterWrite {
    if (found === undefined) {
      const labels = { "app.kubernetes.io/name": "serverless-ccm" };
      const body = {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { ...at, labels },
        data: { [KEY]: text },
      };
      return { ...target, verb: "create", precondition: { absent: true }, body };
    }
    const { uid, resourceVersion } = found.metadata;
    const data = { ...(isAnew ? {} : found.data), [KEY]: text };
    const body = { ...found, apiVersion: "v1", kind: "ConfigMap", data };
    return { ...target, verb: "update", precondition: { uid, resourceVersion }, body };
  }
}

function parse(value: unknown) {
  const parsed = Found.safeParse(value);
  if (parsed.success) return { kind: "object", object: parsed.data } as const;
  return { kind: "malformed", faults: [] } as const;
}
