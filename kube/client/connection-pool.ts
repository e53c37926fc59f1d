import type { Connection } from "#kube/client/connection.ts";

/** Holds the one connection that new requests go to, and those that are still finishing old ones. */
export interface ConnectionPool {
  /** The connection in use, or a new one; whoever asks meanwhile waits for the same. Rejects with `ApiUnreachable`. */
  get(): Promise<Connection>;
  /** The connection that `get` would answer with, if it is there already. */
  ready(): Connection | undefined;
  /** The connection in use, if there is one. */
  current(): Connection | undefined;
  /** New requests go to a new connection; what is open on the one in use finishes there. */
  retire(): void;
  close(): Promise<void>;
}

/** Connections that are waited for in a row: each may be retired before it is there, as a sign-in is refused or a server closes it. */
const MAX_OPENINGS = 3;

/**
 * `open` makes a connection; one that was silent for `maxIdleMs` with nothing open on it is replaced, not trusted, and so is one of
 * which `isOver` says that what it was opened with is about to end.
 */
export function createConnectionPool(
  open: () => Promise<Connection>,
  maxIdleMs: number,
  isOver: (connection: Connection) => boolean = () => false,
): ConnectionPool {
  const all = new Set<Connection>();
  let current: Connection | undefined;
  let opening: Promise<Connection> | undefined;

  const openNew = (): Promise<Connection> => {
    const own = open().then((connection) => {
      all.add(connection);
      void connection.closed.then(() => all.delete(connection));
      if (opening === own) current = connection;
      // Retired before it was there: whoever waits for it waits for the next one.
      else connection.retire();
      return connection;
    });
    opening = own;
    const ended = (): void => {
      if (opening === own) opening = undefined;
    };
    own.then(ended, ended);
    return own;
  };

  const ready = (): Connection | undefined => {
    if (current?.usable() && current.openStreams() === 0 && current.silentMs() > maxIdleMs) current.retire();
    if (current?.usable() && isOver(current)) current.retire();
    return current?.usable() ? current : undefined;
  };

  return {
    ready,
    async get() {
      for (let openings = 1; ; openings += 1) {
        const connection = ready() ?? (await (opening ?? openNew()));
        if (connection.usable() || openings === MAX_OPENINGS) return connection;
      }
    },
    current: () => (current?.usable() ? current : undefined),
    retire() {
      current?.retire();
      opening = undefined;
    },
    async close() {
      // An opening under way is given up by its own signal before this is called.
      await opening?.catch(() => undefined);
      await Promise.all([...all].map((connection) => connection.destroy()));
    },
  };
}
