import { CSR_EVENTS } from "#core/csr/events.ts";
import { FIREWALL_EVENTS } from "#core/digitalocean/firewall/events.ts";
import type { MessageTemplate } from "#core/message-template.ts";
import { NODE_EVENTS } from "#core/node/events.ts";
import { NODE_LIFECYCLE_EVENTS } from "#core/node-lifecycle/events.ts";
import { ROUTE_EVENTS } from "#core/route/events.ts";
import { SERVICE_EVENTS } from "#core/service/events.ts";

/** The Events of one reason. */
export interface EventsOfReason {
  readonly type: "Normal" | "Warning";
  /** Recorded even while other objects wait; other Normal Events are not. */
  readonly always?: true;
  /** The kind of object on which they are recorded. */
  readonly on: string;
  /** An object gets at most one of them in ten minutes, whatever the code. */
  readonly once?: true;
  /** By kind: the maximum in a cluster in ten minutes, for kinds with an unlimited number of objects. */
  readonly atMost?: Readonly<Record<string, number>>;
  /** By code, which distinguishes them and is part of their names. */
  readonly says: Readonly<Record<string, MessageTemplate>>;
}
/** The Events of any controller, when the API server rejects its writes. */
const WRITE_EVENTS = {
  "{kind}UpdateRejected": {
    type: "Warning",
    on: "any kind",
    says: {
      Forbidden: {
        sentence: "The API server does not accept the update of this {kind}: {words}",
        when: "The API server answered an update with 403.",
      },
      Rejected: {
        sentence: "The API server does not accept the update of this {kind}: {words}",
        when: "The API server answered an update with another refusal that the same update will meet again.",
      },
    },
  },
} as const;

/**
 * Every Event by reason and code: all that users of a cluster are told. Each controller has its own in its
 * `events.ts`; a new one is a line here. Readers of Events need not be allowed to know the rest of the cloud
 * account. So sentences are fixed, and their facts are the tenant's own (`src/core/tenant-fact.ts`). A foreign,
 * an invisible and a nonexistent instance get equal messages.
 */
export const EVENTS = {
  ...NODE_EVENTS,
  ...NODE_LIFECYCLE_EVENTS,
  ...WRITE_EVENTS,
  ...SERVICE_EVENTS,
  ...ROUTE_EVENTS,
  ...FIREWALL_EVENTS,
  ...CSR_EVENTS,
} as const satisfies Readonly<Record<string, EventsOfReason>>;
