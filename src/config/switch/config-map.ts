import * as z from "zod";
import { editStops } from "#config/switch/stop-lines.ts";
import {
  assumeStop,
  formatStops,
  parseStops,
  type StopEntry,
  type StopSwitch,
  StopSwitchError,
} from "#config/switch/stops.ts";
import type { ClusterWrite } from "#core/decision.ts";
import { getErrorMessage, sanitizeText } from "#core/sanitize-text.ts";
import { type ObjectRead, readObject, sendWrite } from "#kube/apply/requests.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The ConfigMap and its key. */
export const STOP_CONFIG_MAP = "serverless-ccm-stop";
const KEY = "stop";

export interface ConfigMapSwitchOptions {
  /** As an operator writes it. */
  readonly reference: string;
  readonly namespace: string;
  /** Opens a connection to the management cluster's API server; the switch closes it after use. */
  readonly connect: () => Promise<Transport>;
}

const FoundConfigMap = z.looseObject({
  metadata: z.looseObject({ uid: z.string(), resourceVersion: z.string() }),
  data: z.record(z.string(), z.string()).nullish(),
});
type FoundConfigMap = z.output<typeof FoundConfigMap>;

const CONFIG_MAPS = { apiVersion: "v1", name: "configmaps" } as const;

/** Other operators may write at the same time, each once or twice. */
const MAX_ATTEMPTS = 10;

/**
 * Creates a stop switch from a ConfigMap of a management cluster. Without the ConfigMap nothing is stopped.
 */
export function createConfigMapSwitch({ reference, namespace, connect }: ConfigMapSwitchOptions): StopSwitch {
  const at = { namespace, name: STOP_CONFIG_MAP };
  const target = { on: "cluster", apiVersion: "v1", resource: "configmaps", ...at } as const;
  const failed = (code: "Unreadable" | "NotWritten", error: unknown): StopSwitchError =>
    error instanceof StopSwitchError
      ? error
      : new StopSwitchError(code, reference, getErrorMessage(error), { cause: error });

  async function find(transport: Transport, signal: AbortSignal): Promise<FoundConfigMap | undefined> {
    const read: ObjectRead<FoundConfigMap> = await readObject(transport, CONFIG_MAPS, at, parse, signal);
    if (read.kind === "gone") return undefined;
    if (read.kind === "object") return read.object;
    throw new StopSwitchError(
      "Unreadable",
      reference,
      `cannot be read: ${namespace}/${STOP_CONFIG_MAP}: ${read.message}`,
    );
  }

  const stopsIn = (found: FoundConfigMap | undefined): readonly StopEntry[] => {
    const { [KEY]: text, ...strays } = found?.data ?? {};
    const stopped = text === undefined ? [] : parseStops(reference, text);
    const [first] = Object.keys(strays);
    if (first === undefined) return stopped;
    const message = `has keys that name no stop, such as ${sanitizeText(first, 80)} (writes of all clusters are held back): remove them from the ConfigMap ${namespace}/${STOP_CONFIG_MAP}, whose record is under ${KEY}`;
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
          const edited = await editStops(change, async () => stopsIn(found));
          if (edited === undefined) return;
          const answer = await sendWrite(transport, writeOf(found, formatStops(edited), isAnew), signal);
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
          "was changed by others during each attempt; try again",
        );
      }).catch((error) => {
        throw failed("NotWritten", error);
      }),
  };

  function writeOf(found: FoundConfigMap | undefined, text: string, isAnew: boolean): ClusterWrite {
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
  const parsed = FoundConfigMap.safeParse(value);
  if (parsed.success) return { kind: "object", object: parsed.data } as const;
  return { kind: "malformed", faults: [] } as const;
}
