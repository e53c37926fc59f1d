import type { Http2ServerRequest, ServerHttp2Stream } from "node:http2";
import type { JoiningNodeOptions } from "#emulators/harness/joining-node.ts";
import type { Wire } from "#test/hostile/wire.ts";

/** A request of ours to a hostile server. */
export interface HostileCall {
  readonly user: "relay" | "functions";
  /** Of nodes; an Event is a POST of one. */
  readonly kind: "list" | "watch" | "patch" | "event" | "other";
  readonly url: URL;
  readonly request: Http2ServerRequest;
  readonly stream: ServerHttp2Stream;
  readonly wire: Wire;
}

/** What an attack works with: the honest cluster beneath it, as the tenant that owns it. */
export interface HostileWorld {
  /** Fires when the attack ends. */
  readonly signal: AbortSignal;
  /** Nodes with machines of the tenant's own, whoever else has joined. */
  readonly machines: readonly JoiningNodeOptions[];
  /** Provider IDs and names of others' machines. */
  readonly others: readonly { readonly name: string; readonly providerID: string }[];
  /** Registers nodes, until the attack ends; then they are removed. Never rejects for those that come too late. */
  join(nodes: readonly JoiningNodeOptions[]): Promise<void>;
  /** What time the API server thinks it is; the right one without it. */
  setNow(now: Date | undefined): void;
}

/** An attack that is going on. */
export interface OngoingAttack {
  /** What is done once calls are answered so. */
  begin?(): Promise<void>;
  /** Answers a call, or leaves it to the honest server. */
  answer?(call: HostileCall): boolean;
  /** How long the honest server waits before each answer, once the attack has begun. */
  readonly delayMs?: number;
}

/** Something that the owner of an API server can do to a relay. */
export type Attack = (world: HostileWorld) => OngoingAttack;
