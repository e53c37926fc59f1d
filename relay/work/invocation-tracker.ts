import type { InFlight } from "#relay/work/entry.ts";

/** Tracks which objects each invocation carries, and whether its result is still needed. */
export interface InvocationTracker {
  /** Records an invocation; only the `started` objects are in flight by it. */
  begin(invocation: number, uids: readonly string[], started: number): void;
  /** Ends an invocation and returns all the objects that it was sent with. */
  end(invocation: number): readonly string[];
  /** Records that an object is gone. Returns the invocation if that was its last object. */
  left(uid: string, phase: InFlight): number | undefined;
  /** Records that versions in the reports of these invocations cannot be compared with later ones. */
  restarted(): void;
  /** Returns the invocation of an object that seemed gone and came back before that was settled. */
  returned(uid: string): InFlight | undefined;
}

interface TrackedInvocation {
  readonly uids: readonly string[];
  living: number;
}

/** Creates a tracker, which remembers only what is in flight. */
export function createInvocationTracker(): InvocationTracker {
  const invocations = new Map<number, TrackedInvocation>();
  const gone = new Map<string, InFlight>();
  return {
    begin(invocation, uids, started) {
      invocations.set(invocation, { uids, living: started });
    },
    end(invocation) {
      const uids = invocations.get(invocation)?.uids ?? [];
      invocations.delete(invocation);
      for (const uid of uids) if (gone.get(uid)?.invocation === invocation) gone.delete(uid);
      return uids;
    },
    left(uid, phase) {
      const invocation = invocations.get(phase.invocation);
      if (invocation === undefined) return undefined;
      gone.set(uid, phase);
      invocation.living -= 1;
      return invocation.living === 0 ? phase.invocation : undefined;
    },
    restarted() {
      for (const [uid, phase] of gone) gone.set(uid, { ...phase, isOutdated: true });
    },
    returned(uid) {
      const phase = gone.get(uid);
      const invocation = phase === undefined ? undefined : invocations.get(phase.invocation);
      if (phase === undefined || invocation === undefined) return undefined;
      gone.delete(uid);
      invocation.living += 1;
      return { ...phase, next: undefined };
    },
  };
}
