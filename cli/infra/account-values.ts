import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { shown } from "#core/shown-text.ts";

/** A flag that is given once for all AWS accounts, or once for each as `ACCOUNT=VALUE`. */
export interface AccountValues {
  readonly values: readonly string[];
  of(account: string): string | undefined;
  /** The accounts that it is given for, of those that roles are of; each of the two without the other is a fault. */
  accountsOf(accounts: readonly string[]): readonly string[];
  /** Says which of what is given is about none of these accounts. */
  check(accounts: readonly string[]): void;
}

/** Reads such a flag; what cannot be told apart is a fault. */
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
        message: `"${shown(text)}" is of which account? with several, write ACCOUNT=… for each`,
      });
    else if (account === undefined) forAll = value;
    else if (byAccount.has(account)) faults.push({ name, message: `is given twice for account ${account}` });
    else byAccount.set(account, value);
  }
  const of = (account: string): string | undefined => byAccount.get(account) ?? forAll;
  const check = (accounts: readonly string[]): void => {
    for (const account of byAccount.keys())
      if (!accounts.includes(account))
        faults.push({ name, message: `is given for account ${account}, of which there is no --role` });
  };
  return {
    values: forAll === undefined ? [...byAccount.values()] : [forAll],
    of,
    check,
    accountsOf: (accounts) => {
      check(accounts);
      if (given.length === 0)
        faults.push({
          name,
          message:
            "is missing: it is the issuer of the account's tokens, which AWS says where outbound identity federation is on",
        });
      else if (forAll !== undefined && accounts.length > 1)
        faults.push({
          name,
          message: `is one, and the roles are of ${accounts.join(" and ")}: write ACCOUNT=URL for each, as every account has an issuer of its own`,
        });
      else if (forAll === undefined)
        for (const account of accounts)
          if (!byAccount.has(account))
            faults.push({ name, message: `is missing for account ${account}, of which there is a --role` });
      return accounts;
    },
  };
}
