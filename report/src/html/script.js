
(() => {
  'use strict';
  const find = id => document.getElementById(id);
  const table = find('matrix');
  if (!table) return;
  const groupRows = [...table.tHead.rows];
  const kernelRow = groupRows.pop();
  const groups = groupRows.map(row => [...row.cells].slice(1).map(cell => ({ cell, size: cell.colSpan })));
  const kernels = [...kernelRow.cells].slice(1);
  const lines = [...table.tBodies[0].rows].map(row => ({
    row,
    name: row.cells[0].textContent.toLowerCase(),
    cells: [...row.cells].slice(1),
    section: find(row.cells[0].firstElementChild.hash.slice(1)),
  }));
  const [objectFilter, kernelFilter, verdictFilter] = ['object', 'kernel', 'verdict'].map(name => find(name + '-filter'));

  const applyFilters = () => {
    const object = objectFilter.value.trim().toLowerCase();
    const kernel = kernelFilter.value.trim().toLowerCase();
    const verdict = verdictFilter.value;
    const isShown = kernels.map(cell => cell.title.toLowerCase().includes(kernel));
    kernels.forEach((cell, i) => { cell.hidden = !isShown[i]; });
    for (const row of groups) {
      let start = 0;
      for (const { cell, size } of row) {
        const shown = isShown.slice(start, start + size).filter(Boolean).length;
        start += size;
        cell.hidden = shown === 0;
        cell.colSpan = Math.max(shown, 1);
      }
    }
    let count = 0;
    for (const { row, name, cells, section } of lines) {
      let matches = verdict === '';
      cells.forEach((cell, i) => {
        cell.hidden = !isShown[i];
        if (isShown[i] && cell.classList.contains(verdict || 'none')) matches = true;
      });
      row.hidden = !(matches && name.includes(object));
      section.hidden = row.hidden;
      if (!row.hidden) count += 1;
    }
    find('shown').textContent = `${count} of ${lines.length} objects, ${isShown.filter(Boolean).length} of ${kernels.length} kernels`;
  };

  const contains = (ranges, kernel) => ranges.split(' ').some(range => {
    const [first, last = first] = range.split('-').map(Number);
    return first <= kernel && kernel <= last;
  });

  const showAll = section => {
    for (const finding of section.querySelectorAll('.finding')) finding.classList.remove('other');
    for (const choice of section.querySelectorAll('.choice')) choice.remove();
    for (const cell of table.querySelectorAll('.chosen')) cell.classList.remove('chosen');
  };

  const showCell = (line, index) => {
    const { section, cells } = line;
    for (const other of lines) showAll(other.section);
    cells[index].classList.add('chosen');
    for (const finding of section.querySelectorAll('.finding')) {
      finding.classList.toggle('other', !contains(finding.dataset.kernels, index + 1));
    }
    const choice = document.createElement('div');
    const text = document.createElement('span');
    text.textContent = `only ${kernels[index].title}: ${cells[index].querySelector('i').textContent}`;
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'all kernels';
    button.addEventListener('click', () => showAll(section));
    choice.className = 'choice';
    choice.append(text, button);
    section.querySelector('.summary').after(choice);
  };

  table.addEventListener('click', event => {
    const cell = event.target.closest('td');
    const line = cell && lines.find(line => line.row === cell.parentNode);
    if (line && cell.firstElementChild.href) showCell(line, line.cells.indexOf(cell));
  });
  for (const input of [objectFilter, kernelFilter, verdictFilter]) input.addEventListener('input', applyFilters);
  find('filters').hidden = false;
  applyFilters();
})();
