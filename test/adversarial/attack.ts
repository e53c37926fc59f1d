import type { Http2ServerRequest, ServerHttp2Stream } from "node:http2";
import type { JoiningNodeOptions } from "#emulators/harness/joining-node.ts";
import type { Wire } from "#test/adversarial/wire.ts";

/** A request of ours to a hostile server. */
export interface HostileCall {
  readonly user: "relay" | "functions";
  /** Of nodes; `event` is the POST of an Event. */
  readonly kind: "list" | "watch" | "patch" | "event" | "other";
  readonly url: URL;
  readonly request: Http2ServerRequest;
  readonly stream: ServerHttp2Stream;
  readonly wire: Wire;
}

/** The tools of an attack: the honest cluster beneath it, as its tenant sees it. */
export interface HostileWorld {
  /** Fires when the attack ends. */
  readonly signal: AbortSignal;
  /** Nodes with the tenant's own machines, whether or not others have joined. */
  readonly machines: readonly JoiningNodeOptions[];
  /** Provider IDs and names of foreign machines. */
  readonly others: readonly { readonly name: string; readonly providerID: string }[];
  /** Registers nodes until the attack ends, which removes them. Does not reject for late ones. */
  join(nodes: readonly JoiningNodeOptions[]): Promise<void>;
  /**
   * Announces machines with these provider IDs by NodeClaims until the attack ends, which removes them. A
   * further call changes the provider IDs.
   */
  announce(providerIDs: readonly string[]): Promise<void>;
  /** Sets the API server's time; undefined restores the real one. */
  setNow(now: Date | undefined): void;
}

/** A running attack. */
export interface OngoingAttack {
  /** Called once the attack answers calls. */
  begin?(): Promise<void>;
  /** Answers a call, or leaves it to the honest server. */
  answer?(call: HostileCall): boolean;
  /** The honest server's delay before each answer, once the attack has begun. */
  readonly delayMs?: number;
}

/** An attack that an API server's owner can run on a relay. */
export type Attack = (world: HostileWorld) => OngoingAttack;
