'use strict';
// The page of `core-relo site`: loads kernels, passes them and the user's objects to the worker, and shows the verdicts.
(() => {
  const CALL_SECONDS = 60;
  const find = id => document.getElementById(id);
  const OUTCOMES = {
    loads: { class: 'l', symbol: '✓', words: 'loads', rank: 0, meaning: 'the kernel has all that the programs need; the verifier may still refuse them for other reasons' },
    unknown: { class: 'u', symbol: '?', words: 'unknown', rank: 1, meaning: 'no evidence answers at least one question about the kernel' },
    needs_input: { class: 'n', symbol: '!', words: 'needs input', rank: 2, meaning: 'user space must set something before the load' },
    refused: { class: 'r', symbol: '✗', words: 'refused', rank: 3, meaning: 'the kernel, or the loader, refuses a program that is loaded by default' },
    bad_input: { class: 'b', symbol: '⚠', words: 'bad input', rank: 4, meaning: 'the object could not be judged on the kernel' },
  };
  const state = { kernels: [], objects: [], module: null, about: null, stopped: 0, givenUp: 0, isRunning: false, isReportComplete: true, isShown: true };

  // ---- elements: all text is set as text, never as HTML

  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === 'class') made.className = value;
      else if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
      else if (typeof value === 'boolean') made[key] = value;
      else made.setAttribute(key, value);
    }
    made.append(...children.filter(child => child !== null && child !== undefined));
    return made;
  };
  const code = text => element('code', {}, text);
  const badge = outcome => element('b', { class: outcome.class }, `${outcome.symbol} ${outcome.words}`);
  const plural = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;
  const size = bytes => bytes < 1 << 20 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`;
  const joined = (items, separator = ', ') => items.flatMap((item, i) => i ? [separator, item] : [item]);

  const showProblem = (text, help) => {
    find('problem').textContent = help ? `${text}. ${help}` : text;
    find('problem').hidden = false;
  };

  // ---- files of the page

  const load = async ({ path, bytes }) => {
    const response = await fetch(path);
    if (!response.ok) throw new Error(`${path}: the server answers ${response.status}`);
    let content = await response.arrayBuffer();
    const [first, second] = new Uint8Array(content, 0, Math.min(2, content.byteLength));
    // A server may have unpacked the file already.
    if (first === 0x1f && second === 0x8b) {
      const unpacked = new Blob([content]).stream().pipeThrough(new DecompressionStream('gzip'));
      content = await new Response(unpacked).arrayBuffer();
    }
    if (bytes !== undefined && content.byteLength !== bytes) throw new Error(`${path}: ${content.byteLength} bytes, expected ${bytes}`);
    return content;
  };

  // ---- the worker

  class Judge {
    constructor() {
      // In the order in which the worker answers them.
      this.calls = new Map();
      this.next = 0;
      this.worker = new Worker('worker.js');
      this.worker.addEventListener('message', ({ data: { id, answer } }) => this.settle(id, answer));
      this.worker.addEventListener('error', event => this.endCall(event.message || 'the worker cannot be started'));
      this.isStarted = false;
      this.isEnded = false;
    }
    // Returns the answer of the module. Fails if the module crashes, takes too long, or is stopped. The error has
    // `isOfOther` if another call was the reason.
    call(request, parts = []) {
      return new Promise((resolve, reject) => {
        if (this.isEnded) return reject(this.endError('it has to start again', true));
        const id = this.next++;
        this.calls.set(id, { resolve, reject });
        if (this.calls.size === 1) this.startTimer();
        const module = this.isStarted ? null : state.module;
        this.isStarted = true;
        this.worker.postMessage({ id, module, request, parts }, parts);
      });
    }
    settle(id, answer) {
      const call = this.calls.get(id);
      if (!call) return;
      if (answer.crash !== undefined) return this.endCall(answer.crash);
      this.calls.delete(id);
      this.startTimer();
      call.resolve(answer);
    }
    // Limits the time of the call in work, not the time that calls wait for it.
    startTimer() {
      clearTimeout(this.timer);
      if (this.calls.size) this.timer = setTimeout(() => this.endCall(`no answer after ${CALL_SECONDS} s`), CALL_SECONDS * 1000);
    }
    endError(reason, isOfOther) {
      return Object.assign(new Error(`the checker was stopped: ${reason}`), { isOfOther });
    }
    // Ends the worker because of the call in work.
    endCall(reason) {
      const [[id, call] = []] = this.calls;
      this.calls.delete(id);
      call?.reject(this.endError(reason, false));
      this.end('it has to start again', true);
    }
    // Ends the worker, whatever it does.
    end(reason, isOfOther = false) {
      this.worker.terminate();
      this.isEnded = true;
      clearTimeout(this.timer);
      for (const { reject } of this.calls.values()) reject(this.endError(reason, isOfOther));
      this.calls.clear();
    }
  }

  let judge = null;
  let starting = null;

  // Returns the present worker, or a new one that knows all objects.
  const readyJudge = () => {
    if (!judge || judge.isEnded) starting = startJudge();
    return starting;
  };

  const startJudge = async () => {
    judge = new Judge();
    const started = judge;
    // The new worker has not seen the verdicts so far, which a report needs.
    state.isReportComplete = !state.objects.some(object => object.results.size);
    for (const object of state.objects.filter(object => object.bytes && !object.isStopped)) {
      const answer = await started.call({ request: 'object', name: object.name }, [object.bytes.slice(0)]);
      object.number = answer.ok.object;
    }
    return started;
  };

  // ---- objects

  const addFiles = async files => {
    for (const file of files) {
      // A file that was compiled again takes the place of the one before.
      const earlier = state.objects.findIndex(object => object.name === file.name);
      if (earlier >= 0) {
        state.objects.splice(earlier, 1);
        stop(`another ${file.name} was given`);
      }
      const object = { name: file.name, results: new Map(), isStopped: false };
      state.objects.push(object);
      await readObject(object, file);
    }
    show();
    await run();
  };

  // Reads an object. Another worker takes over if this one is ended for another reason than the object.
  const readObject = async (object, file) => {
    if (file.size > state.about.max_object_bytes) {
      object.error = { message: `has ${file.size} bytes, expected at most ${state.about.max_object_bytes}`, help: null };
      return;
    }
    for (;;) {
      const { stopped, givenUp } = state;
      try {
        const bytes = await file.arrayBuffer();
        const worker = await readyJudge();
        const answer = await worker.call({ request: 'object', name: object.name }, [bytes.slice(0)]);
        if (answer.error) object.error = answer.error;
        else Object.assign(object, { bytes, number: answer.ok.object, description: answer.ok });
        return;
      } catch (error) {
        if ((error.isOfOther || stopped !== state.stopped) && givenUp === state.givenUp) continue;
        object.error = { message: error.message, help: null };
        return;
      }
    }
  };

  // ---- checks

  const chosenKernels = () => state.kernels.filter(kernel => kernel.input.checked);
  const pendingObjects = kernel => state.objects.filter(object => object.bytes && !object.isStopped && !object.results.has(kernel));

  // Checks all objects on all chosen kernels on which they have not been checked.
  const run = async () => {
    if (state.isRunning) return;
    state.isRunning = true;
    document.documentElement.dataset.state = 'busy';
    const turn = state.stopped;
    const isCurrent = () => turn === state.stopped;
    for (;;) {
      const kernel = isCurrent() && chosenKernels().find(kernel => pendingObjects(kernel).length > 0);
      if (!kernel) break;
      await checkOn(kernel, isCurrent);
    }
    state.isRunning = false;
    showProgress(null);
    if (!isCurrent()) await run();
  };

  const checkOn = async (kernel, isCurrent) => {
    const objects = pendingObjects(kernel);
    const fail = message => objects.forEach(object => {
      if (!object.results.has(kernel)) object.results.set(kernel, { error: { message, help: null } });
    });
    try {
      showProgress(kernel);
      const wantsSymbols = objects.some(object => object.description.wants_symbols);
      const parts = kernel.parts.filter(({ part }) => part !== 'symbols' || wantsSymbols);
      const contents = await Promise.all(parts.map(load));
      const worker = await readyJudge();
      const sizes = parts.map(({ part }, i) => [part, contents[i].byteLength]);
      const opened = await worker.call({ request: 'kernel', facts: kernel.facts, parts: sizes }, contents);
      if (opened.error) return fail(opened.error.message);
      for (const object of objects) {
        if (!isCurrent() || !state.objects.includes(object)) return;
        const result = await checkObject(worker, kernel, object);
        // Without a result, the object is checked by the next worker.
        if (!isCurrent() || !result) return;
        object.results.set(kernel, result);
        show();
        // An object that crashes the worker, or takes too long, is not given to the next one.
        object.isStopped = result.isGivenUp;
        if (worker.isEnded) return;
      }
    } catch (error) {
      if (isCurrent() && !error.isOfOther) fail(error.message);
    }
    show();
  };

  // Returns the result of a check, or null if the worker was ended because of another call.
  const checkObject = async (worker, kernel, object) => {
    const request = { request: 'check', object: object.number, loader: find('loader').value };
    try {
      let answer = await worker.call(request);
      if (answer.ok?.needs_modules && kernel.modules) {
        showProgress(kernel, `reads its modules, ${size(kernel.modules.packed_bytes)}`);
        const added = await worker.call({ request: 'modules' }, [await load(kernel.modules)]);
        answer = added.error ? added : await worker.call(request);
      }
      return answer.error ? { error: answer.error, isGivenUp: false } : { verdict: answer.ok, isGivenUp: false };
    } catch (error) {
      return error.isOfOther ? null : { error: { message: error.message, help: null }, isGivenUp: error.isOfOther === false };
    }
  };

  const stop = reason => {
    state.stopped += 1;
    if (judge) judge.end(reason);
  };

  const showProgress = (kernel, what) => {
    const kernels = chosenKernels();
    const isBusy = kernel !== null;
    document.documentElement.dataset.state = isBusy ? 'busy' : 'idle';
    const done = kernels.filter(kernel => pendingObjects(kernel).length === 0).length;
    find('progress').hidden = !isBusy;
    find('stop').hidden = !isBusy;
    setSave();
    find('progress').max = Math.max(kernels.length, 1);
    find('progress').value = done;
    if (isBusy) find('status').textContent = `${kernel.facts.name}${what ? `: ${what}` : ''} (${done + 1} of ${kernels.length})`;
    else find('status').textContent = summary();
  };

  const summary = () => {
    const kernels = shownKernels();
    const loads = (object, kernel) => outcome(object, kernel) === OUTCOMES.loads;
    if (!state.objects.length) return '';
    if (!kernels.length) return 'Choose a kernel.';
    if (state.objects.length === 1) {
      const [object] = state.objects;
      if (object.error) return `${object.name} cannot be read.`;
      return `${object.name} loads on ${kernels.filter(kernel => loads(object, kernel)).length} of ${plural(kernels.length, 'kernel')}.`;
    }
    const good = state.objects.filter(object => kernels.every(kernel => loads(object, kernel))).length;
    return `${good} of ${state.objects.length} objects load on ${kernels.length === 1 ? 'the kernel' : `all ${kernels.length} kernels`}.`;
  };

  // ---- results

  const shownKernels = () => state.kernels.filter(kernel => kernel.input.checked || state.objects.some(object => object.results.has(kernel)));
  const outcome = (object, kernel) => {
    const result = object.results.get(kernel);
    if (!result) return null;
    return result.error ? OUTCOMES.bad_input : OUTCOMES[result.verdict.verdict];
  };
  const objectId = object => `object-${state.objects.indexOf(object) + 1}`;

  // Shows the results soon: many verdicts may come at once.
  const show = () => {
    if (!state.isShown) return;
    state.isShown = false;
    setTimeout(showNow, 30);
  };

  const showNow = () => {
    state.isShown = true;
    find('results').hidden = state.objects.length === 0;
    const kernels = shownKernels();
    const open = new Set([...document.querySelectorAll('#objects details[open]')].map(details => details.id));
    showMatrix(kernels);
    find('objects').replaceChildren(...state.objects.map(object => objectSection(object, kernels)));
    for (const id of open) {
      const details = find(id);
      if (details) details.open = true;
    }
    setSave();
  };

  // A report during the checks would lack verdicts.
  const setSave = () => { find('save').disabled = state.isRunning || !state.objects.some(object => object.results.size); };

  const label = kernel => kernel.facts.label_version ?? kernel.facts.name;

  const showMatrix = kernels => {
    const groups = [];
    for (const kernel of kernels) {
      const name = kernel.facts.architecture ?? 'unknown';
      if (groups.at(-1)?.name === name) groups.at(-1).count += 1;
      else groups.push({ name, count: 1 });
    }
    const labels = kernels.map(label);
    const heads = kernels.map((kernel, i) => {
      const isUnique = labels.indexOf(labels[i]) === labels.lastIndexOf(labels[i]);
      const text = isUnique ? labels[i] : kernel.facts.name;
      return element('th', { scope: 'col', title: kernel.facts.name, class: isStart(kernels, i) }, element('a', { href: '#kernels-title' }, text));
    });
    const head = element('thead', {},
      element('tr', {}, element('th', { scope: 'col' }, 'architecture'), ...groups.map(group => element('th', { scope: 'colgroup', colspan: group.count }, element('span', {}, group.name)))),
      element('tr', {}, element('th', { scope: 'col' }, 'program'), ...heads));
    const bodies = state.objects.map(object => element('tbody', {}, ...objectRows(object, kernels)));
    const caption = element('caption', {}, 'A cell leads to the reasons.');
    find('matrix').replaceChildren(caption, head, ...bodies);
    const shown = Object.values(OUTCOMES).filter(found => find('matrix').querySelector(`td.${found.class}`));
    find('legend').replaceChildren(...shown.map(found => element('li', {}, badge(found), ` ${found.meaning}`)));
  };

  const isStart = (kernels, i) => i === 0 || kernels[i - 1].facts.architecture !== kernels[i].facts.architecture ? 'start' : '';

  const objectRows = (object, kernels) => {
    const row = (kind, name, outcomeOn) => element('tr', { class: kind },
      element('th', { scope: 'row', title: name }, element('a', { href: `#${objectId(object)}` }, name)),
      ...kernels.map((kernel, i) => cell(object, kernel, kind === 'program' ? name : null, outcomeOn(kernel), isStart(kernels, i))));
    const rows = [row('object', object.name, kernel => object.error ? OUTCOMES.bad_input : outcome(object, kernel))];
    for (const program of object.description?.requirements?.programs ?? programsOf(object)) {
      rows.push(row('program', program.name, kernel => {
        const verdict = object.results.get(kernel)?.verdict;
        const found = verdict?.programs.find(other => other.name === program.name);
        return found ? OUTCOMES[found.verdict] : object.results.get(kernel)?.error ? OUTCOMES.bad_input : null;
      }));
    }
    return rows;
  };

  const programsOf = object => [...object.results.values()].find(result => result.verdict)?.verdict.programs ?? [];

  const cell = (object, kernel, program, found, start) => {
    if (!found) return element('td', { class: `busy ${start}` }, element('i', {}, 'not checked'));
    const choose = event => {
      event.preventDefault();
      choosePair(object, kernel, program);
    };
    const link = element('a', { href: `#${objectId(object)}`, onclick: choose, title: `${kernel.facts.name}: ${found.words}` }, found.symbol, element('i', {}, found.words));
    return element('td', { class: `${found.class} ${start}` }, link);
  };

  // Shows the reasons of a cell: marks them, and moves to the first one.
  const choosePair = (object, kernel, program) => {
    const section = find(objectId(object));
    let first = null;
    for (const finding of document.querySelectorAll('#objects .finding')) {
      const isChosen = section.contains(finding) && finding.pairs?.some(pair => pair.kernel === kernel && (program === null || pair.program === null || pair.program === program));
      finding.classList.toggle('chosen', Boolean(isChosen));
      first ??= isChosen ? finding : null;
    }
    const target = first ?? section;
    target.tabIndex = -1;
    target.scrollIntoView({ block: first ? 'center' : 'start' });
    target.focus({ preventScroll: true });
  };

  const objectSection = (object, kernels) => {
    const section = element('section', { id: objectId(object), 'aria-labelledby': `${objectId(object)}-title` },
      element('a', { class: 'up', href: '#results' }, 'all objects'), element('h3', { id: `${objectId(object)}-title` }, code(object.name)));
    if (object.error) {
      section.append(errorFinding(object.error, []));
      return section;
    }
    section.append(element('p', { class: 'summary' }, objectSummary(object, kernels)));
    if (object.description.has_variants) {
      section.append(element('p', { class: 'notice' }, 'The object declares variants of its programs. This page judges the load without a choice; ', code('core-relo check'), ' chooses on each kernel.'));
    }
    const errors = new Map();
    for (const [kernel, { error }] of object.results) {
      if (error) errors.set(error.message, { error, pairs: [...(errors.get(error.message)?.pairs ?? []), { kernel, program: null }] });
    }
    for (const { error, pairs } of errors.values()) section.append(errorFinding(error, pairs));
    section.append(...findings(object, kernels).map(finding => findingElement(finding, kernels)));
    section.append(...warnings(object, kernels));
    if (object.description.requirements) section.append(requirements(object));
    return section;
  };

  const objectSummary = (object, kernels) => {
    const counts = new Map();
    for (const kernel of kernels) {
      const found = outcome(object, kernel);
      if (found) counts.set(found, [...(counts.get(found) ?? []), kernel]);
    }
    if (!counts.size) return 'not checked yet';
    return [...counts].sort(([a], [b]) => b.rank - a.rank).map(([found, on]) => `${found.words} on ${names(on, kernels)}`).join('; ');
  };

  // Returns the names of kernels, or their number if there are many.
  const names = (some, all) => {
    if (all.length > 1 && some.length === all.length) return some.length === 2 ? 'both kernels' : `all ${some.length} kernels`;
    const shown = some.slice(0, 4).map(kernel => kernel.facts.name).join(', ');
    return some.length > 4 ? `${shown} and ${some.length - 4} more` : shown;
  };

  // Returns the distinct reasons of an object, worst first, each with its programs and kernels.
  const findings = (object, kernels) => {
    const distinct = new Map();
    for (const kernel of kernels) {
      const verdict = object.results.get(kernel)?.verdict;
      if (!verdict) continue;
      const add = (reason, fixes, program) => {
        const { source } = reason;
        const key = JSON.stringify([reason.verdict, reason.kind, reason.text, source && [source.file, source.line, source.column]]);
        const finding = distinct.get(key) ?? { reason, fixes: [], pairs: [], evidence: new Map(), autoload: false, order: distinct.size };
        distinct.set(key, finding);
        finding.pairs.push({ kernel, program: program?.name ?? null });
        finding.autoload ||= program?.autoload ?? true;
        for (const fix of fixes) {
          if (!finding.fixes.some(other => JSON.stringify(other) === JSON.stringify(fix))) finding.fixes.push(fix);
        }
        if (reason.evidence) {
          const text = `${reason.evidence.source}: ${reason.evidence.text}`;
          finding.evidence.set(text, new Set([...(finding.evidence.get(text) ?? []), kernel]));
        }
      };
      verdict.programs.forEach((program, p) => program.reasons.forEach((reason, r) => add(reason, verdict.fixes.programs[p]?.[r] ?? [], program)));
      const isRepeated = reason => verdict.programs.some(program => program.reasons.some(other => other.kind === reason.kind && other.text === reason.text));
      verdict.reasons.forEach((reason, r) => isRepeated(reason) || add(reason, verdict.fixes.reasons[r] ?? [], null));
    }
    const rank = finding => OUTCOMES[finding.reason.verdict].rank;
    return [...distinct.values()].sort((a, b) => b.autoload - a.autoload || rank(b) - rank(a) || a.order - b.order);
  };

  const article = (found, text, pairs, fields) => {
    const list = element('dl', {}, ...fields.flatMap(([name, ...content]) => [element('dt', {}, name), element('dd', {}, ...content)]));
    const made = element('article', { class: 'finding' }, element('p', {}, badge(found), ' ', text), list);
    made.pairs = pairs;
    return made;
  };

  const errorFinding = (error, pairs) => article(OUTCOMES.bad_input, error.message, pairs,
    [...(pairs.length ? [['kernels', pairs.map(({ kernel }) => kernel.facts.name).join(', ')]] : []), ...(error.help ? [['help', error.help]] : [])]);

  const sourceLine = source => {
    const position = `${source.is_near ? 'near ' : ''}${source.file}:${source.line}${source.column ? `:${source.column}` : ''}`;
    return [code(position), source.text.trim() ? element('pre', {}, source.text.trim()) : null];
  };

  const FIX_PLACES = {
    line: 'replaces the line', condition: 'the condition around the access', extern: 'replaces the declaration', section: 'replaces the section',
    map: 'in the definition of the map', loader: 'in the loader, between open and load', compiler: 'an option of the compiler', command: 'an option of core-relo',
  };

  const fixContent = fix => {
    const place = fix.code && fix.applies_to === 'line' && fix.source ? `replaces ${fix.source.file}:${fix.source.line}` : fix.code && FIX_PLACES[fix.applies_to];
    return [
      fix.text, place ? element('small', {}, ` (${place})`) : null,
      fix.declaration ? element('pre', { class: 'fix' }, fix.declaration) : null,
      fix.code ? element('pre', { class: 'fix' }, fix.code) : null,
    ].filter(Boolean);
  };

  const findingElement = ({ reason, fixes, pairs, evidence, autoload }, kernels) => {
    const on = kernels.filter(kernel => pairs.some(pair => pair.kernel === kernel));
    const programs = [...new Set(pairs.map(pair => pair.program).filter(Boolean))];
    const shown = programs.slice(0, 8).map(code);
    if (programs.length > shown.length) shown.push(`${programs.length - shown.length} more`);
    const fields = [['kernels', names(on, kernels)]];
    if (programs.length) fields.push([programs.length === 1 ? 'program' : 'programs', ...joined(shown), autoload ? '' : ' (not loaded by default)']);
    if (reason.source) fields.push(['source', ...sourceLine(reason.source)]);
    for (const [text, where] of [...evidence].slice(0, 3)) {
      fields.push(['evidence', text, on.length > where.size ? ` (${names([...where], on)})` : '']);
    }
    fixes.slice(0, 4).forEach((fix, i) => fields.push([fix.code || fix.declaration ? i ? 'or' : 'fix' : 'note', ...fixContent(fix)]));
    if (!fixes.length && reason.fix) fields.push(['fix', reason.fix]);
    return article(OUTCOMES[reason.verdict], reason.text, pairs, fields);
  };

  const warnings = (object, kernels) => {
    const made = [];
    const distinct = new Map();
    for (const kernel of kernels) {
      const verdict = object.results.get(kernel)?.verdict;
      for (const warning of verdict?.warnings ?? []) {
        const key = JSON.stringify([warning.program, warning.text, warning.local, warning.target]);
        distinct.set(key, { warning, on: [...(distinct.get(key)?.on ?? []), kernel] });
      }
      for (const text of verdict?.kernel_warnings ?? []) {
        made.push(element('p', { class: 'summary' }, `${kernel.facts.name}: ${text}`));
      }
    }
    const found = { class: 'w', symbol: '≠', words: 'warning' };
    for (const { warning, on } of distinct.values()) {
      const fields = [['kernels', names(on, kernels)], ['program', code(warning.program)]];
      if (warning.source) fields.push(['source', ...sourceLine(warning.source)]);
      fields.push(['in object', element('pre', {}, warning.local)], ['in kernel', element('pre', {}, warning.target)]);
      made.push(article(found, warning.text, on.map(kernel => ({ kernel, program: warning.program })), fields));
    }
    return made;
  };

  // ---- requirements

  const list = (columns, rows) => element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': columns[0] }, element('table', { class: 'list' },
    element('thead', {}, element('tr', {}, ...columns.map(column => element('th', { scope: 'col' }, column)))),
    element('tbody', {}, ...rows.map(row => element('tr', {}, ...row.map(content => element('td', {}, content ?? '')))))));
  const short = name => name?.replace(/^BPF_(MAP_TYPE|PROG_TYPE)_/, '').toLowerCase() ?? 'unknown';
  const place = ({ insn, source }) => source ? `${source.file}:${source.line}` : `insn ${insn}`;

  const requirements = object => {
    const { license, maps, externs, programs } = object.description.requirements;
    const details = element('details', { id: `${objectId(object)}-requirements`, class: 'requirements' },
      element('summary', {}, `Requirements: ${plural(programs.length, 'program')}, ${plural(maps.length, 'map')}, ${plural(externs.length, 'extern')}, license ${license ?? 'none'}`));
    // A large object has many rows, so they are made when they are shown.
    details.addEventListener('toggle', () => {
      if (!details.open || details.children.length > 1) return;
      if (maps.length) details.append(element('h4', {}, 'Maps'), list(['map', 'type', 'key', 'value', 'entries'], maps.map(map => [code(map.name), short(map.map_type), map.key_size, map.value_size, map.max_entries])));
      if (externs.length) details.append(element('h4', {}, 'Externs'), list(['extern', 'kind'], externs.map(ext => [code(ext.name), ext.weak ? `weak ${ext.kind}` : ext.kind])));
      for (const program of programs) details.append(...programRequirements(program));
    });
    return details;
  };

  const programRequirements = program => {
    const facts = [program.section, short(program.program_type)];
    if (program.insns) facts.push(plural(program.insns, 'instruction'));
    if (program.stack_bytes) facts.push(`${program.stack_bytes} bytes of stack`);
    if (!program.autoload) facts.push('not loaded unless asked for');
    if (program.attach_target) facts.push(`attaches to the ${program.attach_target.kind} ${program.attach_target.name}`);
    const rows = [];
    const add = (kind, uses, name = use => use.name) => uses.forEach(use => rows.push([kind, code(name(use)), use.count, place(use)]));
    add('helper', program.helpers);
    add('kfunc', program.kfuncs);
    add('extern', program.externs);
    add('map', program.maps);
    add('instructions', program.instruction_sets, use => use.since ? `${use.name} (since ${use.since})` : use.name);
    add('access', program.accesses, use => use.access);
    add('check', program.checks, use => use.access);
    return [element('h4', {}, program.name), element('p', { class: 'summary' }, facts.join(', ')), program.error ? element('p', {}, `cannot be linked: ${program.error}`) : null,
      rows.length ? list(['requirement', 'name', 'uses', 'first use'], rows) : null].filter(Boolean);
  };

  // ---- controls

  const showKernels = () => {
    find('kernels').replaceChildren(...state.kernels.map(kernel => {
      kernel.input = element('input', { type: 'checkbox', onchange: () => { show(); run(); } });
      const bytes = kernel.parts.filter(({ part }) => part !== 'symbols').reduce((sum, part) => sum + part.packed_bytes, 0);
      const facts = [kernel.facts.release !== null && !kernel.facts.name.includes(kernel.facts.release) ? kernel.facts.release : null, kernel.facts.architecture, size(bytes)];
      return element('li', {}, element('label', {}, kernel.input, element('span', {}, kernel.facts.name, ' ', element('small', {}, facts.filter(Boolean).join(', ')))));
    }));
    const newest = state.kernels.at(-1);
    if (newest) newest.input.checked = true;
  };

  const chooseAll = isChosen => {
    for (const kernel of state.kernels) kernel.input.checked = isChosen;
    show();
    run();
  };

  const clear = () => {
    stop('all objects were removed');
    state.objects = [];
    show();
    showProgress(null);
    find('files').value = '';
    find('files').focus();
  };

  // A new loader has other verdicts.
  const changeLoader = () => {
    stop('another loader was chosen');
    for (const object of state.objects) object.results.clear();
    show();
    run();
  };

  const requestReport = async () => {
    try {
      return await (await readyJudge()).call({ request: 'report' });
    } catch (error) {
      return { error };
    }
  };

  const save = async () => {
    if (!state.isReportComplete) {
      for (const object of state.objects.filter(object => !object.isStopped)) object.results.clear();
      state.isReportComplete = true;
      await run();
    }
    const answer = await requestReport();
    if (answer.error) return showProblem('The report cannot be written', answer.error.message);
    const link = element('a', { href: URL.createObjectURL(new Blob([answer.ok], { type: 'text/html' })), download: 'core-relo.html' });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };

  const connect = () => {
    const drop = find('drop');
    find('files').addEventListener('change', ({ target }) => {
      addFiles([...target.files]);
      // The same file can be chosen again.
      target.value = '';
    });
    for (const name of ['dragover', 'drop']) {
      document.addEventListener(name, event => {
        event.preventDefault();
        drop.classList.toggle('over', name === 'dragover');
      });
    }
    document.addEventListener('dragleave', () => drop.classList.remove('over'));
    document.addEventListener('drop', event => addFiles([...event.dataTransfer.files]));
    find('all').addEventListener('click', () => chooseAll(true));
    find('none').addEventListener('click', () => chooseAll(false));
    find('stop').addEventListener('click', () => {
      for (const kernel of state.kernels) if (pendingObjects(kernel).length) kernel.input.checked = false;
      state.givenUp += 1;
      stop('by the user');
      show();
    });
    find('clear').addEventListener('click', clear);
    find('save').addEventListener('click', save);
    find('loader').addEventListener('change', changeLoader);
  };

  const start = async () => {
    if (location.protocol === 'file:') {
      return showProblem('Browsers do not run this page from a file', 'Serve its directory, for example with: python3 -m http.server');
    }
    if (!('DecompressionStream' in window && 'WebAssembly' in window)) {
      return showProblem('This browser is too old for this page', 'It lacks DecompressionStream or WebAssembly.');
    }
    try {
      const manifest = await (await fetch('kernels.json', { cache: 'no-cache' })).json();
      state.module = await WebAssembly.compile(await load({ path: 'core-relo-web.wasm.gz' }));
      const worker = await readyJudge();
      state.about = (await worker.call({ request: 'about' })).ok;
      if (state.about.module !== manifest.module) {
        return showProblem(`The page is of ${manifest.module}, its module of ${state.about.module}`, 'Reload the page.');
      }
      state.kernels = manifest.kernels;
      find('loader').replaceChildren(...state.about.loaders.map(([word, name]) => element('option', { value: word, selected: word === manifest.loader }, name)));
      find('version').textContent = `${state.about.module}; ${plural(state.kernels.length, 'kernel')}`;
    } catch (error) {
      return showProblem(`The page cannot be loaded: ${error.message}`, 'Reload the page.');
    }
    showKernels();
    connect();
    document.documentElement.dataset.ready = 'yes';
  };

  // The verdicts so far, with the keys of `check --format json`, for scripts.
  window.coreReloResults = () => state.objects.flatMap(object => [...object.results].map(([kernel, { verdict, error }]) =>
    verdict ?? { object: object.name, target: kernel.facts.name, verdict: 'bad_input', error }));

  start();
})();
