import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** A flag that is given once for all AWS accounts, or once for each as `ACCOUNT=VALUE`. */
export interface AccountValues {
  readonly values: readonly string[];
  of(account: string): string | undefined;
  /** Whether one value applies to all accounts. */
  readonly isForAll: boolean;
  /** Reports values for accounts that are not in this list. */
  check(accounts: readonly string[]): void;
}

/** Reads such a flag; an ambiguous value is a fault. */
export function readAccountValues(
  name: string,
  given: readonly string[] = [],
  faults: ConfigurationFault[],
): AccountValues {
  const byAccount = new Map<string, string>();
  let forAll: string | undefined;
  for (const text of given) {
    const [, account, value = text] = /^(\d{12})=(.*)$/s.exec(text) ?? [];
    if (account === undefined && given.length > 1)
      faults.push({
        name,
        message: `"${sanitizeText(text)}" is of which account? with several, write ACCOUNT=… for each`,
      });
    else if (account === undefined) forAll = value;
    else if (byAccount.has(account)) faults.push({ name, message: `is given twice for account ${account}` });
    else byAccount.set(account, value);
  }
  return {
    values: forAll === undefined ? [...byAccount.values()] : [forAll],
    of: (account) => byAccount.get(account) ?? forAll,
    isForAll: forAll !== undefined,
    check: (accounts) => {
      for (const account of byAccount.keys())
        if (!accounts.includes(account))
          faults.push({ name, message: `is given for account ${account}, of which there is no --role` });
    },
  };
}
