import type { InFlight } from "#relay/work/entry.ts";

/** Which objects each flight carries, and whether anybody still waits for it. */
export interface Flights {
  /** Of these only the `started` are in flight by it. */
  begin(flight: number, uids: readonly string[], started: number): void;
  /** All that it was sent with. */
  end(flight: number): readonly string[];
  /** An object of a flight is gone; answers with the flight where that was its last. */
  left(uid: string, phase: InFlight): number | undefined;
  /** Versions that the reports of these name compare with nothing that follows. */
  restarted(): void;
  /** What an object that was thought gone is in flight by, as it is back before that is settled. */
  returned(uid: string): InFlight | undefined;
}

interface Flight {
  readonly uids: readonly string[];
  living: number;
}

/** No flights yet. It remembers no more than what is in flight. */
export function createFlights(): Flights {
  const flights = new Map<number, Flight>();
  const gone = new Map<string, InFlight>();
  return {
    begin(flight, uids, started) {
      flights.set(flight, { uids, living: started });
    },
    end(flight) {
      const uids = flights.get(flight)?.uids ?? [];
      flights.delete(flight);
      for (const uid of uids) if (gone.get(uid)?.flight === flight) gone.delete(uid);
      return uids;
    },
    left(uid, phase) {
      const flight = flights.get(phase.flight);
      if (flight === undefined) return undefined;
      gone.set(uid, phase);
      flight.living -= 1;
      return flight.living === 0 ? phase.flight : undefined;
    },
    restarted() {
      for (const [uid, phase] of gone) gone.set(uid, { ...phase, isOfThePast: true });
    },
    returned(uid) {
      const phase = gone.get(uid);
      const flight = phase === undefined ? undefined : flights.get(phase.flight);
      if (phase === undefined || flight === undefined) return undefined;
      gone.delete(uid);
      flight.living += 1;
      return { ...phase, next: undefined };
    },
  };
}
