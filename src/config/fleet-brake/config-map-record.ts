import * as z from "zod";
import { RecordError, type RecordStore } from "#config/fleet-brake/fleet-brake.ts";
import { FIELD_MANAGER } from "#core/contracts.ts";
import { parseJson } from "#core/parse-json.ts";
import { CONFIG_MAPS, formatCreationPath, formatObjectPath } from "#core/resources/resource.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { type Answer, classifyAnswer } from "#kube/client/answer.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";

/** The ConfigMap of a management cluster that holds the record. */
export interface ConfigMapRecordOptions {
  /** As an operator writes it. */
  readonly reference: string;
  readonly namespace: string;
  readonly configMap: string;
  /** Opens a connection to the management cluster's API server; the record closes it after use. */
  readonly connect: () => Promise<Transport>;
}

/** The key in the ConfigMap's data that holds the document. */
export const FLEET_KEY = "fleet";

const REQUEST_TIMEOUT_MS = 5_000;

const ConfigMap = z.looseObject({
  metadata: z.looseObject({ uid: z.string().min(1), resourceVersion: z.string().min(1) }),
  data: z.record(z.string(), z.string()).optional(),
});

/** Creates a record store in a ConfigMap; other keys of the ConfigMap stay unchanged. */
export function createConfigMapRecord(options: ConfigMapRecordOptions): RecordStore {
  const { reference, namespace, configMap: name } = options;
  const path = formatObjectPath(CONFIG_MAPS, { namespace, name });
  const failed = (what: string, said: string): RecordError =>
    new RecordError(
      `${reference} cannot be ${what} (${said}): see the Role of infra/fleet-brake/config-map.yaml`,
    );

  async function send(what: string, request: ApiRequest): Promise<{ answer: Answer; body: string }> {
    try {
      const transport = await options.connect();
      try {
        const response: ApiResponse = await transport.send({ ...request, timeoutMs: REQUEST_TIMEOUT_MS });
        return { answer: classifyAnswer(response), body: response.body };
      } finally {
        await transport.close();
      }
    } catch (error) {
      throw failed(what, getErrorMessage(error));
    }
  }

  return {
    name: reference,
    async read(signal) {
      const { answer, body } = await send("read", { method: "GET", path, signal });
      if (answer.kind === "gone") return { kind: "absent" };
      if (answer.kind !== "applied") throw failed("read", answer.message);
      const { data: read } = ConfigMap.safeParse(parseJson(body));
      if (read === undefined) throw failed("read", "an answer of success that is not a ConfigMap");
      const { uid, resourceVersion } = read.metadata;
      return { kind: "stored", text: read.data?.[FLEET_KEY] ?? "", version: `${uid}/${resourceVersion}` };
    },
    async swap(text, version, signal) {
      const [uid, resourceVersion] = version?.split("/") ?? [];
      const data = { [FLEET_KEY]: text };
      const query = `?fieldManager=${FIELD_MANAGER}`;
      const { answer } = await send(
        "written",
        version === undefined
          ? {
              method: "POST",
              path: `${formatCreationPath(CONFIG_MAPS, namespace)}${query}`,
              body: { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data },
              signal,
            }
          : {
              method: "PATCH",
              path: `${path}${query}`,
              // The API server compares the version in a patch with its own.
              body: { metadata: { uid, resourceVersion }, data },
              contentType: "application/merge-patch+json",
              signal,
            },
      );
      switch (answer.kind) {
        case "applied":
          return true;
        case "conflict":
        case "exists":
        case "gone":
          return false;
        default:
          throw failed("written", answer.message);
      }
    },
  };
}
