import { open } from "node:fs/promises";
import type { RequestRecord } from "#emulators/harness/control-plane.ts";

/** One request of kube-apiserver's audit log. */
export interface AuditRecord extends RequestRecord {
  /** The server's message of a rejection. */
  readonly message?: string;
}

/** A growing audit log. */
export interface AuditLog {
  /** Returns all requests so far, including every one whose complete answer a client has received. */
  read(): Promise<readonly AuditRecord[]>;
}

/** Records all requests about objects as metadata, without the API server's requests to itself. */
export const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    { level: "None", users: ["system:apiserver"] },
    { level: "None", nonResourceURLs: ["*"] },
    { level: "Metadata" },
  ],
} as const;

/**
 * Reads an audit log in JSON lines; the server must write it in blocking mode, so that an entry precedes the
 * end of its answer.
 */
export function openAuditLog(file: string): AuditLog {
  const records: AuditRecord[] = [];
  let offset = 0;
  let reading: Promise<void> | undefined;

  const readOn = async (): Promise<void> => {
    const text = await readFrom(file, offset);
    // Text after the last line break is still being written.
    const whole = text.subarray(0, text.lastIndexOf("\n") + 1);
    offset += whole.length;
    for (const line of whole.toString("utf8").split("\n")) {
      const record = line === "" ? undefined : toAuditRecord(JSON.parse(line) as AuditEvent);
      if (record !== undefined) records.push(record);
    }
  };
  return {
    read: async () => {
      reading = (reading ?? Promise.resolve()).then(readOn);
      await reading;
      return [...records];
    },
  };
}

/** The fields of an audit event that are read. */
interface AuditEvent {
  readonly stage: "ResponseStarted" | "ResponseComplete" | "Panic";
  readonly verb: string;
  readonly user?: { readonly username?: string };
  readonly impersonatedUser?: { readonly username?: string };
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number; readonly message?: string };
  readonly stageTimestamp: string;
}

function toAuditRecord(event: AuditEvent): AuditRecord | undefined {
  const { objectRef, verb, stage, responseStatus } = event;
  if (objectRef?.resource === undefined) return undefined;
  // A watch counts from its first answer on; its end may be the server's own.
  if (stage !== (verb === "watch" ? "ResponseStarted" : "ResponseComplete")) return undefined;
  return {
    // The impersonated user, as the embedded server records it, too.
    user: event.impersonatedUser?.username ?? event.user?.username ?? "",
    verb,
    resource: objectRef.resource,
    ...(objectRef.subresource === undefined ? {} : { subresource: objectRef.subresource }),
    ...(objectRef.name === undefined ? {} : { name: objectRef.name }),
    code: responseStatus?.code ?? 0,
    at: Date.parse(event.stageTimestamp),
    ...(responseStatus?.message === undefined ? {} : { message: responseStatus.message }),
  };
}

async function readFrom(file: string, offset: number): Promise<Buffer> {
  const handle = await open(file, "r");
  try {
    const { size } = await handle.stat();
    const buffer = Buffer.alloc(Math.max(0, size - offset));
    let filled = 0;
    while (filled < buffer.length) {
      const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, offset + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return buffer.subarray(0, filled);
  } finally {
    await handle.close();
  }
}
